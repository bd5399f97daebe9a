import { max, mean, type serialization, type Tensor, tidy } from "@tensorflow/tfjs-core";
import { InputSpec, layers } from "@tensorflow/tfjs-layers";

type Shape = (number | null)[];

/** What {@link KeepdimsGlobalPooling} is made with. */
export interface GlobalPoolingArgs {
  readonly name?: string;
  readonly dataFormat?: "channelsLast" | "channelsFirst";
}

/**
 * Global pooling that keeps the pooled axes at size 1, as Keras' with `keepdims: true`. tfjs-layers 4.22 reads past that option and drops
 * the axes, whereupon it refuses the next convolution: MobileNet's `conv_preds`.
 */
abstract class KeepdimsGlobalPooling extends layers.Layer {
  readonly #rank: number;
  readonly #dataFormat: "channelsLast" | "channelsFirst";

  constructor(args: GlobalPoolingArgs, rank: number) {
    super(args as ConstructorParameters<typeof layers.Layer>[0]);
    this.#rank = rank;
    this.#dataFormat = args.dataFormat ?? "channelsLast";
    this.inputSpec = [new InputSpec({ ndim: rank })];
  }

  protected abstract reduce(input: Tensor, axes: number[]): Tensor;

  override computeOutputShape(inputShape: Shape | Shape[]): Shape {
    const shape = (Array.isArray(inputShape[0]) ? inputShape[0] : inputShape) as Shape;
    const pooled = this.#pooledAxes();
    return shape.map((size, axis) => (pooled.includes(axis) ? 1 : size));
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    return tidy(() => {
      const input = (Array.isArray(inputs) ? inputs[0] : inputs) as Tensor;
      return this.reduce(input, this.#pooledAxes());
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), dataFormat: this.#dataFormat, keepdims: true };
  }

  #pooledAxes(): number[] {
    const first = this.#dataFormat === "channelsLast" ? 1 : 2;
    return Array.from({ length: this.#rank - 2 }, (_, i) => first + i);
  }
}

abstract class KeepdimsAverage extends KeepdimsGlobalPooling {
  protected override reduce(input: Tensor, axes: number[]): Tensor {
    return mean(input, axes, true);
  }
}

abstract class KeepdimsMax extends KeepdimsGlobalPooling {
  protected override reduce(input: Tensor, axes: number[]): Tensor {
    return max(input, axes, true);
  }
}

export class GlobalAveragePooling1D extends KeepdimsAverage {
  static readonly className = "GlobalAveragePooling1D";

  constructor(args: GlobalPoolingArgs = {}) {
    super(args, 3);
  }
}

export class GlobalAveragePooling2D extends KeepdimsAverage {
  static readonly className = "GlobalAveragePooling2D";

  constructor(args: GlobalPoolingArgs = {}) {
    super(args, 4);
  }
}

export class GlobalMaxPooling1D extends KeepdimsMax {
  static readonly className = "GlobalMaxPooling1D";

  constructor(args: GlobalPoolingArgs = {}) {
    super(args, 3);
  }
}

export class GlobalMaxPooling2D extends KeepdimsMax {
  static readonly className = "GlobalMaxPooling2D";

  constructor(args: GlobalPoolingArgs = {}) {
    super(args, 4);
  }
}
