import { mean, type serialization, type Tensor, tidy } from "@tensorflow/tfjs-core";
import { InputSpec, layers } from "@tensorflow/tfjs-layers";
import { max } from "../operations/kinks.js";

type Shape = (number | null)[];

/** Arguments of {@link GlobalPooling}. */
export interface GlobalPoolingArgs {
  readonly name?: string;
  readonly dataFormat?: "channelsLast" | "channelsFirst";
  readonly keepdims?: boolean;
}

/**
 * Global pooling that can keep the pooled axes at size 1, as in Keras with `keepdims: true`. tfjs-layers 4.22 ignores
 * that option and drops the axes, so the next convolution, such as MobileNet's `conv_preds`, fails.
 */
abstract class GlobalPooling extends layers.Layer {
  readonly #rank: number;
  readonly #keepsDimensions: boolean;
  readonly #dataFormat: "channelsLast" | "channelsFirst";

  constructor(args: GlobalPoolingArgs, rank: number, keepsDimensions = true) {
    super(args as ConstructorParameters<typeof layers.Layer>[0]);
    this.#rank = rank;
    this.#keepsDimensions = keepsDimensions;
    this.#dataFormat = args.dataFormat ?? "channelsLast";
    this.inputSpec = [new InputSpec({ ndim: rank })];
  }

  protected abstract reduce(input: Tensor, axes: number[], keepDims: boolean): Tensor;

  override computeOutputShape(inputShape: Shape | Shape[]): Shape {
    const shape = (Array.isArray(inputShape[0]) ? inputShape[0] : inputShape) as Shape;
    const pooled = this.#pooledAxes();
    return this.#keepsDimensions
      ? shape.map((size, axis) => (pooled.includes(axis) ? 1 : size))
      : shape.filter((_, axis) => !pooled.includes(axis));
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    return tidy(() => {
      const input = (Array.isArray(inputs) ? inputs[0] : inputs) as Tensor;
      return this.reduce(input, this.#pooledAxes(), this.#keepsDimensions);
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), dataFormat: this.#dataFormat, keepdims: this.#keepsDimensions };
  }

  #pooledAxes(): number[] {
    const first = this.#dataFormat === "channelsLast" ? 1 : 2;
    return Array.from({ length: this.#rank - 2 }, (_, i) => first + i);
  }
}

abstract class Average extends GlobalPooling {
  protected override reduce(input: Tensor, axes: number[], keepDims: boolean): Tensor {
    return mean(input, axes, keepDims);
  }
}

abstract class Maximum extends GlobalPooling {
  protected override reduce(input: Tensor, axes: number[], keepDims: boolean): Tensor {
    return max(input, axes, keepDims);
  }
}

export class GlobalAveragePooling1D extends Average {
  static readonly className = "GlobalAveragePooling1D";

  constructor(args: GlobalPoolingArgs = {}) {
    super(args, 3);
  }
}

export class GlobalAveragePooling2D extends Average {
  static readonly className = "GlobalAveragePooling2D";

  constructor(args: GlobalPoolingArgs = {}) {
    super(args, 4);
  }
}

export class GlobalMaxPooling1D extends Maximum {
  static readonly className = "GlobalMaxPooling1D";

  constructor(args: GlobalPoolingArgs = {}) {
    super(args, 3, args.keepdims === true);
  }
}

export class GlobalMaxPooling2D extends Maximum {
  static readonly className = "GlobalMaxPooling2D";

  constructor(args: GlobalPoolingArgs = {}) {
    super(args, 4, args.keepdims === true);
  }
}

export class GlobalAveragePooling3D extends Average {
  static readonly className = "GlobalAveragePooling3D";

  constructor(args: GlobalPoolingArgs = {}) {
    super(args, 5, args.keepdims === true);
  }
}

export class GlobalMaxPooling3D extends Maximum {
  static readonly className = "GlobalMaxPooling3D";

  constructor(args: GlobalPoolingArgs = {}) {
    super(args, 5, args.keepdims === true);
  }
}
