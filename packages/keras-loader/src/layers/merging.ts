import { add, mul, type serialization, sub, type Tensor, tidy } from "@tensorflow/tfjs-core";
import { layers } from "@tensorflow/tfjs-layers";
import type { Shape } from "../layer-note.js";
import { broadcastShapes } from "../operations/operation.js";

abstract class OfTwo extends layers.Layer {
  constructor(args: object = {}) {
    super(args as ConstructorParameters<typeof layers.Layer>[0]);
    this.supportsMasking = true;
  }

  protected abstract merge(a: Tensor, b: Tensor): Tensor;

  override computeOutputShape(shapes: (number | null)[] | (number | null)[][]): (number | null)[] {
    const [a, b] = shapes as (number | null)[][];
    return [...broadcastShapes(a as Shape, b as Shape)];
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    const [a, b] = inputs as [Tensor, Tensor];
    return tidy(() => this.merge(a, b));
  }

  override computeMask(): Tensor {
    // No mask. tfjs-layers accepts null for it.
    return null as unknown as Tensor;
  }
}

/** Keras' `Subtract`, which tfjs-layers 4.22 lacks: the first input minus the second. */
export class Subtract extends OfTwo {
  static readonly className = "Subtract";

  protected override merge(a: Tensor, b: Tensor): Tensor {
    return sub(a, b);
  }
}

/** Adds a scaled residual: the first input plus `scale` times the second. From Keras' InceptionResNetV2. */
export class CustomScaleLayer extends OfTwo {
  static readonly className = "CustomScaleLayer";
  readonly #scale: number;

  constructor(args: { readonly name?: string; readonly scale?: number } = {}) {
    super(args);
    this.#scale = args.scale ?? 1;
  }

  protected override merge(a: Tensor, b: Tensor): Tensor {
    return add(a, mul(b, this.#scale));
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), scale: this.#scale };
  }
}
