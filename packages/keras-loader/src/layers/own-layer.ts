import type { Tensor } from "@tensorflow/tfjs-core";
import { type LayerVariable, layers } from "@tensorflow/tfjs-layers";

/** A shape in tfjs-layers. null means an unknown size. */
export type LayerShape = (number | null)[];

/** Call options of a layer, in addition to its inputs. */
export interface CallOptions {
  readonly training?: unknown;
  readonly mask?: unknown;
}

/** Initializer, regularizer and constraint of a weight, as in a topology or as objects. */
export interface WeightOptions {
  readonly initializer?: unknown;
  readonly regularizer?: unknown;
  readonly constraint?: unknown;
}

/** These options as objects of tfjs-layers. */
interface ReadOptions {
  readonly kernelInitializer: never;
  readonly kernelRegularizer: never;
  readonly kernelConstraint: never;
}

/** Base class of layers that this package supplies. */
export abstract class OwnLayer extends layers.Layer {
  constructor(args: object = {}) {
    super(args as ConstructorParameters<typeof layers.Layer>[0]);
  }

  /** Adds a weight with options from a topology, which tfjs-layers parses as for its own layers. */
  protected addOwnWeight(
    name: string,
    shape: number[],
    { initializer, regularizer, constraint }: WeightOptions,
    otherwise: "glorotUniform" | "zeros" | "ones",
  ): LayerVariable {
    // tfjs-layers exports no parser for these, so a layer that has such options parses them.
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

/** An activation made by tfjs-layers. */
export interface Activation {
  apply(x: Tensor): Tensor;
}

/** Returns the activation of a topology, which tfjs-layers parses as for its own layers. Undefined if none exists. */
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

/** Returns one number for each of `count` axes, given one for all or a list. */
export function sizesOf(value: unknown, count: number, otherwise = 1): number[] {
  if (Array.isArray(value)) return value as number[];
  return Array.from({ length: count }, () => (typeof value === "number" ? value : otherwise));
}

/** Returns the axis order that moves the channels last, and the one that moves them back. */
export function channelOrders(rank: number): { readonly toLast: number[]; readonly toFirst: number[] } {
  const spatial = Array.from({ length: rank - 2 }, (_, i) => i + 2);
  return { toLast: [0, ...spatial, 1], toFirst: [0, rank - 1, ...spatial.map((axis) => axis - 1)] };
}
