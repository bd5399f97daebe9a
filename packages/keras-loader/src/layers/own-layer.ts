import type { Tensor } from "@tensorflow/tfjs-core";
import { type LayerVariable, layers } from "@tensorflow/tfjs-layers";

/** A shape as tfjs-layers has it: null where the size is not known. */
export type LayerShape = (number | null)[];

/** What a layer is called with besides its inputs. */
export interface CallOptions {
  readonly training?: unknown;
  readonly mask?: unknown;
}

/** What initialises, regularises and constrains one weight of a layer, as a topology writes it or as it was made. */
export interface WeightOptions {
  readonly initializer?: unknown;
  readonly regularizer?: unknown;
  readonly constraint?: unknown;
}

/** What tfjs-layers makes of weight options. */
interface ReadOptions {
  readonly kernelInitializer: never;
  readonly kernelRegularizer: never;
  readonly kernelConstraint: never;
}

/** A layer that this package supplies, with what all of them need. */
export abstract class OwnLayer extends layers.Layer {
  constructor(args: object = {}) {
    super(args as ConstructorParameters<typeof layers.Layer>[0]);
  }

  /** Adds a weight whose options a topology wrote, read as tfjs-layers reads those of its own layers. */
  protected addOwnWeight(
    name: string,
    shape: number[],
    { initializer, regularizer, constraint }: WeightOptions,
    otherwise: "glorotUniform" | "zeros" | "ones",
  ): LayerVariable {
    // Nothing of tfjs-layers that reads these is public, but a layer that has them.
    const read = layers.dense({
      units: 1,
      kernelInitializer: (initializer ?? otherwise) as never,
      kernelRegularizer: (regularizer ?? null) as never,
      kernelConstraint: (constraint ?? null) as never,
    }) as unknown as ReadOptions;
    const { kernelInitializer, kernelRegularizer, kernelConstraint } = read;
    return this.addWeight(name, shape, "float32", kernelInitializer, kernelRegularizer, true, kernelConstraint);
  }
}

/** An activation as tfjs-layers has made it. */
export interface Activation {
  apply(x: Tensor): Tensor;
}

/** Returns the activation that a topology names, read as tfjs-layers reads those of its own layers; undefined for none. */
export function readActivation(activation: unknown): Activation | undefined {
  if (activation === undefined || activation === null) return undefined;
  return (layers.activation({ activation: activation as never }) as unknown as { readonly activation: Activation })
    .activation;
}

/** Returns the first of a layer's inputs. */
export function firstInput(inputs: Tensor | Tensor[]): Tensor {
  return (Array.isArray(inputs) ? inputs[0] : inputs) as Tensor;
}

/** Returns the shape of the first of a layer's inputs. */
export function firstShape(shape: LayerShape | LayerShape[]): LayerShape {
  return (Array.isArray(shape[0]) ? shape[0] : shape) as LayerShape;
}

/** Returns one number for each of `count` axes, of one for all or of a list. */
export function sizesOf(value: unknown, count: number, otherwise = 1): number[] {
  if (Array.isArray(value)) return value as number[];
  return Array.from({ length: count }, () => (typeof value === "number" ? value : otherwise));
}

/** Returns the order of axes that puts the channels last, and the one that puts them first again. */
export function channelOrders(rank: number): { readonly toLast: number[]; readonly toFirst: number[] } {
  const spatial = Array.from({ length: rank - 2 }, (_, i) => i + 2);
  return { toLast: [0, ...spatial, 1], toFirst: [0, rank - 1, ...spatial.map((axis) => axis - 1)] };
}
