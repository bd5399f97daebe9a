import {
  add,
  cast,
  concat,
  dropout,
  mul,
  ones,
  onesLike,
  reshape,
  reverse,
  type serialization,
  split,
  stack,
  sub,
  type Tensor,
  tidy,
  transpose,
  unstack,
  zeros,
} from "@tensorflow/tfjs-core";
import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { convolve, convolvedSize, type Window } from "./convolve.js";
import {
  type Activation,
  type CallOptions,
  firstShape,
  type LayerShape,
  OwnLayer,
  readActivation,
  sizesOf,
  type WeightOptions,
} from "./own-layer.js";

type Args = Readonly<Record<string, unknown>>;

/**
 * Keras' `ConvLSTM1D`, `ConvLSTM2D` and `ConvLSTM3D`: an LSTM whose products are convolutions over
 * `[batch, time, …space, channels]`. tfjs-layers 4.22 has only the two-dimensional one, without masks and without a
 * gradient for dilated windows.
 */
abstract class ConvolutionalLSTM extends OwnLayer {
  readonly #args: Args;
  readonly #filters: number;
  readonly #sizes: number[];
  readonly #window: Window;
  readonly #isFirst: boolean;
  readonly #activation: Activation | undefined;
  readonly #gateActivation: Activation | undefined;
  #kernel: LayerVariable | undefined;
  #recurrentKernel: LayerVariable | undefined;
  #bias: LayerVariable | undefined;

  constructor(args: Args, rank: number) {
    super(args);
    this.#args = args;
    this.#filters = args["filters"] as number;
    this.#sizes = sizesOf(args["kernelSize"], rank);
    this.#window = {
      strides: sizesOf(args["strides"], rank),
      padding: (args["padding"] ?? "valid") as Window["padding"],
      dilationRate: sizesOf(args["dilationRate"], rank),
    };
    this.#isFirst = args["dataFormat"] === "channelsFirst";
    this.#activation = readActivation(args["activation"] === undefined ? "tanh" : args["activation"]);
    const gate = args["recurrentActivation"];
    this.#gateActivation = readActivation(gate === undefined ? "hardSigmoid" : gate);
  }

  override build(inputShape: LayerShape | LayerShape[]): void {
    if (this.#args["stateful"] === true)
      throw new Error("a state kept between batches (stateful: true) is not supported");
    const shape = firstShape(inputShape);
    const channels = shape[this.#isFirst ? 2 : shape.length - 1] as number;
    const gates = 4 * this.#filters;
    const [kernel, recurrent] = [this.#optionsOf("kernel"), this.#optionsOf("recurrent")];
    this.#kernel = this.addOwnWeight("kernel", [...this.#sizes, channels, gates], kernel, "glorotUniform");
    const recurrentShape = [...this.#sizes, this.#filters, gates];
    this.#recurrentKernel = this.addOwnWeight("recurrent_kernel", recurrentShape, recurrent, "glorotUniform");
    if (this.#args["useBias"] !== false) {
      const forgetting = { apply: () => tidy(() => this.#initialBias()) } as never;
      this.#bias =
        this.#args["unitForgetBias"] === false
          ? this.addOwnWeight("bias", [gates], this.#optionsOf("bias"), "zeros")
          : this.addWeight("bias", [gates], "float32", forgetting, undefined, true);
    }
    super.build(inputShape);
  }

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape | LayerShape[] {
    const [batch, time, ...rest] = firstShape(inputShape) as [number | null, number | null, ...LayerShape];
    const space = (this.#isFirst ? rest.slice(1) : rest.slice(0, -1)).map((size, i) => this.#sizeOf(size, i));
    const state = this.#isFirst ? [batch, this.#filters, ...space] : [batch, ...space, this.#filters];
    const out = this.#args["returnSequences"] === true ? [batch, time, ...state.slice(1)] : state;
    return this.#args["returnState"] === true ? [out, state, [...state]] : out;
  }

  override call(inputs: Tensor | Tensor[], { training, mask }: CallOptions = {}): Tensor | Tensor[] {
    return tidy(() => {
      const [x, ...given] = (Array.isArray(inputs) ? inputs : [inputs]) as [Tensor, ...Tensor[]];
      const isBackwards = this.#args["goBackwards"] === true;
      const inOrder = (all: Tensor): Tensor[] => unstack(isBackwards ? reverse(all, 1) : all, 1);
      const steps = inOrder(this.#isFirst ? transpose(x, lastOf(x.rank)) : x);
      const masks = mask == null ? undefined : inOrder([mask].flat()[0] as Tensor);
      const space = (steps[0] as Tensor).shape.slice(1, -1).map((size, i) => this.#sizeOf(size, i) as number);
      const shape = [x.shape[0], ...space, this.#filters];
      const start = given.map((state) => (this.#isFirst ? transpose(state, lastOf(state.rank, 1)) : state));
      let [h, c] = (start.length === 2 ? start : [zeros(shape), zeros(shape)]) as [Tensor, Tensor];
      const ofInput = this.#dropped("dropout", steps[0] as Tensor, training);
      const ofState = this.#dropped("recurrentDropout", h, training);
      const outputs: Tensor[] = [];
      steps.forEach((step, i) => {
        const [nextH, nextC] = this.#step(ofInput(step), ofState(h), c);
        const isKept = masks?.[i];
        [h, c] = isKept === undefined ? [nextH, nextC] : [choose(isKept, nextH, h), choose(isKept, nextC, c)];
        if (this.#args["returnSequences"] === true) outputs.push(h);
      });
      const first = (y: Tensor, before: number): Tensor => (this.#isFirst ? transpose(y, firstOf(y.rank, before)) : y);
      const out = outputs.length > 0 ? first(stack(outputs, 1), 2) : first(h, 1);
      return this.#args["returnState"] === true ? [out, first(h, 1), first(c, 1)] : out;
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...(this.#args as serialization.ConfigDict) };
  }

  /** Read when masks are passed on. */
  get returnSequences(): boolean {
    return this.#args["returnSequences"] === true;
  }

  #step(x: Tensor, h: Tensor, c: Tensor): [Tensor, Tensor] {
    const one = { strides: this.#sizes.map(() => 1), padding: "same", dilationRate: this.#sizes.map(() => 1) } as const;
    const ofInput = convolve(x, (this.#kernel as LayerVariable).read(), this.#window);
    const biased = this.#bias === undefined ? ofInput : add(ofInput, this.#bias.read());
    const gates = add(biased, convolve(h, (this.#recurrentKernel as LayerVariable).read(), one));
    const [i, f, g, o] = split(gates, 4, -1) as [Tensor, Tensor, Tensor, Tensor];
    const gate = (y: Tensor): Tensor => this.#gateActivation?.apply(y) ?? y;
    const active = (y: Tensor): Tensor => this.#activation?.apply(y) ?? y;
    const nextC = add(mul(gate(f), c), mul(gate(i), active(g)));
    return [mul(gate(o), active(nextC)), nextC];
  }

  /** Drops the same places at every step. */
  #dropped(option: string, like: Tensor, training: unknown): (x: Tensor) => Tensor {
    const rate = (this.#args[option] as number | undefined) ?? 0;
    if (training !== true || rate === 0) return (x) => x;
    const kept = dropout(onesLike(like), rate);
    return (x) => mul(x, kept);
  }

  #initialBias(): Tensor {
    return concat([zeros([this.#filters]), ones([this.#filters]), zeros([2 * this.#filters])]);
  }

  #sizeOf(size: number | null, axis: number): number | null {
    const { padding, strides, dilationRate } = this.#window;
    return convolvedSize(
      size,
      this.#sizes[axis] as number,
      padding,
      strides[axis] as number,
      dilationRate[axis] as number,
    );
  }

  #optionsOf(weight: string): WeightOptions {
    const { [`${weight}Initializer`]: initializer, [`${weight}Regularizer`]: regularizer } = this.#args;
    return { initializer, regularizer, constraint: this.#args[`${weight}Constraint`] };
  }
}

/** Selects by a mask of samples: `next` where it is true, otherwise `old`. */
function choose(mask: Tensor, next: Tensor, old: Tensor): Tensor {
  const kept = reshape(cast(mask, "float32"), [-1, ...next.shape.slice(1).map(() => 1)]);
  return add(mul(next, kept), mul(old, sub(1, kept)));
}

/** Axis orders that move the channels behind the spatial axes. `at` is the axis of the channels before. */
const lastOf = (rank: number, at = 2): number[] => {
  const axes = Array.from({ length: rank }, (_, i) => i);
  return [...axes.filter((axis) => axis !== at), at];
};

const firstOf = (rank: number, at: number): number[] => {
  const axes = Array.from({ length: rank - 1 }, (_, i) => i);
  return [...axes.slice(0, at), rank - 1, ...axes.slice(at)];
};

/** Keras' `ConvLSTM1D`. */
export class ConvLSTM1D extends ConvolutionalLSTM {
  static readonly className = "ConvLSTM1D";
  constructor(args: Args) {
    super(args, 1);
  }
}

/** Keras' `ConvLSTM2D`. */
export class ConvLSTM2D extends ConvolutionalLSTM {
  static readonly className = "ConvLSTM2D";
  constructor(args: Args) {
    super(args, 2);
  }
}

/** Keras' `ConvLSTM3D`. */
export class ConvLSTM3D extends ConvolutionalLSTM {
  static readonly className = "ConvLSTM3D";
  constructor(args: Args) {
    super(args, 3);
  }
}
