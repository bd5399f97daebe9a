import {
  div,
  matMul,
  maximum,
  mul,
  reshape,
  rsqrt,
  serialization,
  square,
  sum,
  type Tensor,
  tidy,
} from "@tensorflow/tfjs-core";
import { initializers, type LayerVariable } from "@tensorflow/tfjs-layers";
import type { Layer } from "./layer-class.js";
import { type CallOptions, firstShape, type LayerShape, OwnLayer } from "./own-layer.js";

/**
 * Keras' `SpectralNormalization` of a layer. In training, the layer's kernel is divided by the kernel's largest
 * singular value before each run. A vector kept between steps approximates the singular vector.
 */
export class SpectralNormalization extends OwnLayer {
  static readonly className = "SpectralNormalization";
  readonly layer: Layer;
  readonly #powerIterations: number;
  #vector: LayerVariable | undefined;

  constructor(args: { readonly layer: Layer; readonly powerIterations?: number }) {
    super(args);
    this.layer = args.layer;
    this.#powerIterations = args.powerIterations ?? 1;
  }

  static override fromConfig<T extends serialization.Serializable>(
    cls: serialization.SerializableConstructor<T>,
    config: serialization.ConfigDict,
  ): T {
    const { className, config: own } = config["layer"] as unknown as { className: string; config: object };
    const known = serialization.SerializationMap.getMap().classNameMap[className];
    const [inner, make] = known as unknown as readonly [unknown, (...args: unknown[]) => Layer];
    return new cls({ ...config, layer: make(inner, own, {}, false) as never });
  }

  override build(inputShape: LayerShape | LayerShape[]): void {
    if (!this.layer.built) {
      this.layer.build(inputShape as LayerShape);
      this.layer.built = true;
    }
    const width = this.#kernel.shape.at(-1) as number;
    const start = initializers.truncatedNormal({ stddev: 0.02 });
    this.#vector = this.addWeight("vector_u", [1, width], "float32", start, undefined, false);
    super.build(inputShape);
  }

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape | LayerShape[] {
    return this.layer.computeOutputShape(firstShape(inputShape));
  }

  override call(inputs: Tensor | Tensor[], options: CallOptions = {}): Tensor | Tensor[] {
    if (options.training === true) tidy(() => this.#normalize());
    return this.layer.call(inputs, options as never);
  }

  override get trainableWeights(): LayerVariable[] {
    return this.layer.trainableWeights;
  }

  override get nonTrainableWeights(): LayerVariable[] {
    return [...this.layer.nonTrainableWeights, ...super.nonTrainableWeights];
  }

  override getConfig(): serialization.ConfigDict {
    const layer = { className: this.layer.getClassName(), config: this.layer.getConfig() };
    return { ...super.getConfig(), layer, powerIterations: this.#powerIterations };
  }

  get #kernel(): LayerVariable {
    const { kernel, embeddings } = this.layer as unknown as Readonly<Record<"kernel" | "embeddings", LayerVariable>>;
    const found = kernel ?? embeddings;
    if (found == null) throw new Error(`its layer (${this.layer.getClassName()}) has no kernel`);
    return found;
  }

  #normalize(): void {
    const vector = this.#vector as LayerVariable;
    const kernel = this.#kernel.read();
    const weights = reshape(kernel, [-1, kernel.shape.at(-1) as number]);
    let u = vector.read();
    let v = u;
    for (let i = 0; i < this.#powerIterations; i++) {
      v = ofLengthOne(matMul(u, weights, false, true));
      u = ofLengthOne(matMul(v, weights));
    }
    const sigma = matMul(matMul(v, weights), u, false, true);
    vector.write(u);
    this.#kernel.write(div(kernel, reshape(sigma, [])));
  }
}

const ofLengthOne = (x: Tensor): Tensor => mul(x, rsqrt(maximum(sum(square(x)), 1e-12)));
