import {
  any,
  cast,
  concat,
  customGrad,
  div,
  expandDims,
  keep,
  logicalAnd,
  logicalOr,
  mul,
  notEqual,
  ones,
  sum,
  Tensor,
  tidy,
  zerosLike,
} from "@tensorflow/tfjs-core";
import { layers, type SymbolicTensor } from "@tensorflow/tfjs-layers";
import { isModelClass } from "../layer-note.js";
import { detached } from "../operations/detached.js";
import { derivingOnce, type Layer, type LayerClass } from "./layer-class.js";
import type { CallOptions, LayerShape } from "./own-layer.js";

type Value = Tensor | Tensor[] | SymbolicTensor | SymbolicTensor[];
type Mask = Tensor | undefined;

/** Masks of tensors: which of their samples and steps count. */
const masks = new WeakMap<Tensor, Tensor>();

/** Returns the mask of a tensor. Undefined if all samples and steps count. */
export function maskOf(tensor: Tensor): Tensor | undefined {
  return masks.get(tensor);
}

const recurrent = new Set("RNN SimpleRNN LSTM GRU Bidirectional ConvLSTM1D ConvLSTM2D ConvLSTM3D".split(" "));
const merging = new Set("Add Subtract Multiply Average Maximum Minimum".split(" "));
const attending = new Set("Attention AdditiveAttention MultiHeadAttention GroupQueryAttention".split(" "));
/** Layers that process steps one by one, so that their outputs have the mask of their first input. */
const passing = new Set(
  (
    "Dense Activation Dropout SpatialDropout1D SpatialDropout2D SpatialDropout3D GaussianNoise GaussianDropout AlphaDropout ActivityRegularization " +
    "LayerNormalization BatchNormalization GroupNormalization UnitNormalization ReLU LeakyReLU PReLU ELU ThresholdedReLU Softmax TimeDistributed " +
    "Attention AdditiveAttention MultiHeadAttention GroupQueryAttention"
  ).split(" "),
);

/**
 * Returns a class whose instances pass masks on as in this version of Keras. tfjs-layers 4.22 stores the mask of a
 * layer's first input in arguments shared by the whole execution, so the mask reaches layers whose inputs have none.
 * Masks of other inputs are lost.
 */
export function withMasks(Base: LayerClass, isKeras3: boolean): LayerClass {
  const { className } = Base as unknown as { readonly className: string };
  if (isModelClass(className)) return withKeptMasks(Base);
  const Averaging = className === "GlobalAveragePooling1D" ? withMaskedAverage(Base) : Base;
  const Own = className === "Masking" ? withOwnMask(Averaging) : Averaging;
  return isKeras3 ? ofKeras3(Own) : ofKeras2(Own);
}

const ofKeras2 = derivingOnce((Base) => masked(Base, false));
const ofKeras3 = derivingOnce((Base) => masked(Base, true));

function masked(Base: LayerClass, isKeras3: boolean): LayerClass {
  return class Masked extends Base {
    constructor(config: object) {
      super(config);
      // Otherwise tfjs-layers would pass masks on as well.
      this.supportsMasking = false;
    }

    override apply(inputs: Value, options: Parameters<Layer["apply"]>[1] = {}): Value {
      const given = Array.isArray(inputs) ? inputs : [inputs];
      if (!(given[0] instanceof Tensor)) return super.apply(inputs, options);
      const found = (given as Tensor[]).map((input) => masks.get(input));
      const { mask: _ofAnother, ...own } = options;
      const name = this.getClassName();
      const mask = attending.has(name) ? found : takesMask(name) ? found[0] : undefined;
      const result = super.apply(inputs, found.some(Boolean) && mask !== undefined ? { ...own, mask } : own);
      const made = this.#maskOf(name, given as Tensor[], found) ?? undefined;
      const output = made !== undefined && name === "Bidirectional" ? zeroWhereMasked(result as Tensor, made) : result;
      if (made !== undefined)
        masks.set((Array.isArray(output) ? output[0] : output) as Tensor, escaping.has(this) ? keep(made) : made);
      return output;
    }

    #maskOf(name: string, inputs: Tensor[], found: readonly Mask[]): Mask {
      if (name === "Embedding" || name === "Masking") return super.computeMask(inputs) as Tensor | undefined;
      if (found.every((mask) => mask === undefined)) return undefined;
      if (recurrent.has(name))
        return (this as unknown as { readonly returnSequences?: boolean }).returnSequences ? found[0] : undefined;
      if (name === "Concatenate") return besideEachOther(inputs, found, (this.getConfig()["axis"] as number) ?? -1);
      if (merging.has(name)) return isKeras3 ? either(found) : all(found);
      return passing.has(name) ? found[0] : undefined;
    }
  };
}

/** Layers whose outputs are outputs of a nested model, so their masks outlive its run. */
const escaping = new WeakSet<object>();

/**
 * Keeps the masks of a nested model's outputs. After the run, tfjs-layers disposes of everything except for the
 * outputs.
 */
const withKeptMasks: (Base: LayerClass) => LayerClass = derivingOnce(
  (Base) =>
    class MaskedModel extends Base {
      override apply(inputs: Value, options?: Parameters<Layer["apply"]>[1]): Value {
        const { outputs } = this as unknown as { readonly outputs?: readonly SymbolicTensor[] };
        const ends = (outputs ?? []).map(({ sourceLayer }) => sourceLayer).filter((layer) => !escaping.has(layer));
        for (const layer of ends) escaping.add(layer);
        try {
          const output = super.apply(inputs, options);
          for (const tensor of Array.isArray(output) ? output : [output]) release(tensor as Tensor);
          return output;
        } finally {
          for (const layer of ends) escaping.delete(layer);
        }
      }
    },
);

/** Lets the mask of an output live as long as the output. */
function release(output: Tensor): void {
  const kept = masks.get(output);
  if (kept === undefined) return;
  masks.set(output, kept.clone());
  kept.dispose();
}

/** In Keras' Bidirectional both halves return zeros at masked steps. */
function zeroWhereMasked(output: Tensor | Tensor[], mask: Tensor): Tensor | Tensor[] {
  const counted = expandDims(cast(mask, "float32"), -1);
  return Array.isArray(output)
    ? output.map((each) => (each.rank === 3 ? mul(each, counted) : each))
    : mul(output, counted);
}

/** Returns a class that takes a mask as its last input, as Keras 3 writes a call with a mask. */
export const withMaskInput: (Base: LayerClass) => LayerClass = derivingOnce(
  (Base) =>
    class MaskInput extends Base {
      /** Bypasses `apply` of recurrent layers, which would take the mask for a state. */
      override apply(inputs: Value, options?: Parameters<Layer["apply"]>[1]): Value {
        return layers.Layer.prototype.apply.call(this, inputs, { ...options });
      }

      protected override assertInputCompatibility(): void {}

      override build(inputShape: LayerShape | LayerShape[]): void {
        super.build((inputShape as LayerShape[])[0] as LayerShape);
      }

      override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape | LayerShape[] {
        return super.computeOutputShape((inputShape as LayerShape[])[0] as LayerShape);
      }

      override call(inputs: Tensor | Tensor[], options: CallOptions = {}): Tensor | Tensor[] {
        const [x, ...rest] = inputs as [Tensor, ...Tensor[]];
        // The mask is detached, because comparisons have no gradient.
        const given = rest.pop() as Tensor;
        const mask = detached(() => given.clone());
        const states = rest.length > 0 ? { initialState: rest } : {};
        return super.call(x, { ...options, ...states, mask } as never);
      }

      override getConfig(): ReturnType<Layer["getConfig"]> {
        return { ...super.getConfig(), hasMaskInput: true };
      }
    },
);

const takesMask = (name: string): boolean => recurrent.has(name) || name === "GlobalAveragePooling1D";

const all = (found: readonly Mask[]): Mask =>
  found.filter((mask) => mask !== undefined).reduce((a, b) => logicalAnd(a, b));

const either = (found: readonly Mask[]): Mask =>
  found.every((mask) => mask !== undefined) ? found.reduce((a, b) => logicalOr(a, b)) : undefined;

function besideEachOther(inputs: readonly Tensor[], found: readonly Mask[], axis: number): Mask {
  const rank = (inputs[0] as Tensor).rank;
  if ((axis < 0 ? axis + rank : axis) !== 1) return all(found);
  const each = inputs.map(({ shape: [batch, time] }, i) => found[i] ?? ones([batch as number, time as number], "bool"));
  return concat(each, 1);
}

/** Returns 1 for each step with any value other than `value`. Its gradient is zero. */
function stepsOtherThan(value: number, x: Tensor, keepDims: boolean): Tensor {
  return customGrad((...args) => ({
    value: cast(any(notEqual(args[0] as Tensor, value), -1, keepDims), "float32"),
    gradFunc: (_dy: Tensor, _saved: Tensor[]) => zerosLike(x),
  }))(x);
}

/** Gives `Masking` of tfjs-layers a gradient. tfjs-layers 4.22 would need the gradient of a comparison. */
const withOwnMask: (Base: LayerClass) => LayerClass = derivingOnce(
  (Base) =>
    class Masking extends Base {
      override call(inputs: Tensor | Tensor[]): Tensor {
        const x = (Array.isArray(inputs) ? inputs[0] : inputs) as Tensor;
        return tidy(() => mul(x, stepsOtherThan(this.#value, x, true)));
      }

      override computeMask(inputs: Tensor | Tensor[]): Tensor {
        const x = (Array.isArray(inputs) ? inputs[0] : inputs) as Tensor;
        return tidy(() => cast(stepsOtherThan(this.#value, x, false), "bool"));
      }

      get #value(): number {
        return (this as unknown as { readonly maskValue: number }).maskValue;
      }
    },
);

/** Makes `GlobalAveragePooling1D` average over the steps that the mask keeps. */
export const withMaskedAverage: (Base: LayerClass) => LayerClass = derivingOnce(
  (Base) =>
    class GlobalAveragePooling1D extends Base {
      override call(inputs: Tensor | Tensor[], options: CallOptions = {}): Tensor | Tensor[] {
        const { mask } = options;
        if (mask == null) return super.call(inputs, options as never);
        const { keepdims } = this.getConfig() as { readonly keepdims?: boolean };
        return tidy(() => {
          const x = (Array.isArray(inputs) ? inputs[0] : inputs) as Tensor;
          const kept = expandDims(cast(mask as Tensor, "float32"), -1);
          return div(sum(mul(x, kept), 1, keepdims), sum(kept, 1, keepdims));
        });
      }
    },
);
