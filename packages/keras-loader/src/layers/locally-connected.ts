import {
  add,
  concat,
  gather,
  reshape,
  type serialization,
  type Tensor,
  tensor1d,
  tidy,
  transpose,
} from "@tensorflow/tfjs-core";
import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { contract } from "../operations/contract.js";
import { convolvedSize } from "./convolve.js";
import {
  type Activation,
  channelOrders,
  firstInput,
  firstShape,
  type LayerShape,
  OwnLayer,
  readActivation,
  sizesOf,
} from "./own-layer.js";

type Args = Readonly<Record<string, unknown>>;

/** Keras 2's `LocallyConnected1D` and `LocallyConnected2D`: convolutions with a separate kernel at each place. */
abstract class LocallyConnected extends OwnLayer {
  readonly #args: Args;
  readonly #sizes: number[];
  readonly #strides: number[];
  readonly #isFirst: boolean;
  readonly #activation: Activation | undefined;
  #kernel: LayerVariable | undefined;
  #bias: LayerVariable | undefined;

  constructor(args: Args, rank: number) {
    super(args);
    this.#args = args;
    this.#sizes = sizesOf(args["kernelSize"], rank);
    this.#strides = sizesOf(args["strides"], rank);
    this.#isFirst = args["dataFormat"] === "channelsFirst";
    this.#activation = readActivation(args["activation"]);
  }

  override build(inputShape: LayerShape | LayerShape[]): void {
    const { implementation, padding } = this.#args;
    if ((implementation ?? 1) !== 1)
      throw new Error(`implementation ${String(implementation)} is not supported; use 1`);
    if ((padding ?? "valid") !== "valid") throw new Error(`padding '${String(padding)}' is not supported; use 'valid'`);
    const { space, channels } = this.#read(firstShape(inputShape));
    if (space.includes(null)) throw new Error("an input of unknown size is not supported");
    const places = (space as number[]).reduce((a, b) => a * b, 1);
    const window = this.#sizes.reduce((a, b) => a * b, channels);
    const filters = this.#args["filters"] as number;
    const { kernelInitializer, kernelRegularizer, kernelConstraint } = this.#args;
    const { biasInitializer, biasRegularizer, biasConstraint } = this.#args;
    const options = { initializer: kernelInitializer, regularizer: kernelRegularizer, constraint: kernelConstraint };
    const biasOptions = { initializer: biasInitializer, regularizer: biasRegularizer, constraint: biasConstraint };
    this.#kernel = this.addOwnWeight("kernel", [places, window, filters], options, "glorotUniform");
    if (this.#args["useBias"] !== false)
      this.#bias = this.addOwnWeight("bias", [...(space as number[]), filters], biasOptions, "zeros");
    super.build(inputShape);
  }

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
    const { batch, space } = this.#read(firstShape(inputShape));
    const filters = this.#args["filters"] as number;
    return this.#isFirst ? [batch, filters, ...space] : [batch, ...space, filters];
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    return tidy(() => {
      const x = firstInput(inputs);
      const { toLast, toFirst } = channelOrders(x.rank);
      const last = this.#isFirst ? transpose(x, toLast) : x;
      const space = this.#read(x.shape).space as number[];
      const windows = reshape(concat(this.#places(last, space), -1), [
        x.shape[0] as number,
        space.reduce((a, b) => a * b, 1),
        -1,
      ]);
      const products = contract("bpk,pkf->bpf", windows, (this.#kernel as LayerVariable).read());
      const shaped = reshape(products, [x.shape[0] as number, ...space, this.#args["filters"] as number]);
      const biased = this.#bias === undefined ? shaped : add(shaped, this.#bias.read());
      const active = this.#activation?.apply(biased) ?? biased;
      return this.#isFirst ? transpose(active, toFirst) : active;
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...(this.#args as serialization.ConfigDict) };
  }

  /** The inputs seen by each place of the window, one tensor each. */
  #places(x: Tensor, space: readonly number[]): Tensor[] {
    const offsets = this.#sizes.reduce<number[][]>(
      (all, size) => all.flatMap((before) => Array.from({ length: size }, (_, i) => [...before, i])),
      [[]],
    );
    return offsets.map((offset) =>
      offset.reduce<Tensor>((seen, at, i) => {
        const stride = this.#strides[i] as number;
        const places = Array.from({ length: space[i] as number }, (_, place) => at + place * stride);
        return gather(seen, tensor1d(places, "int32"), i + 1);
      }, x),
    );
  }

  #read(shape: LayerShape) {
    const [batch, ...rest] = shape as [number | null, ...LayerShape];
    const channels = (this.#isFirst ? rest[0] : rest.at(-1)) as number;
    const space = (this.#isFirst ? rest.slice(1) : rest.slice(0, -1)).map((size, i) =>
      convolvedSize(size, this.#sizes[i] as number, "valid", this.#strides[i] as number, 1),
    );
    return { batch, channels, space };
  }
}

/** Keras 2's `LocallyConnected1D`. */
export class LocallyConnected1D extends LocallyConnected {
  static readonly className = "LocallyConnected1D";
  constructor(args: Args) {
    super(args, 1);
  }
}

/** Keras 2's `LocallyConnected2D`. */
export class LocallyConnected2D extends LocallyConnected {
  static readonly className = "LocallyConnected2D";
  constructor(args: Args) {
    super(args, 2);
  }
}
