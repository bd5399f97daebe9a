import { add, dropout, keep, matMul, mul, onesLike, split, sub, type Tensor, tidy } from "@tensorflow/tfjs-core";
import type { LayerVariable, SymbolicTensor } from "@tensorflow/tfjs-layers";
import { derivingOnce, type Layer, type LayerClass } from "./layer-class.js";
import type { CallOptions } from "./own-layer.js";

type Value = Tensor | Tensor[] | SymbolicTensor | SymbolicTensor[];

/**
 * Makes a recurrent class store its initial state in its own arguments. tfjs-layers 4.22 stores it in arguments shared
 * by the whole execution, so every later recurrent layer starts from that state as well.
 */
export const withOwnArguments: (Base: LayerClass) => LayerClass = derivingOnce(
  (Base) =>
    class Recurrent extends Base {
      override apply(inputs: Value, options?: Parameters<Layer["apply"]>[1]): Value {
        return super.apply(inputs, { ...options });
      }
    },
);

/** Members of tfjs-layers' `GRUCell` that are read and set here. */
interface Cell {
  readonly units: number;
  readonly useBias: boolean;
  readonly dropout: number;
  readonly recurrentDropout: number;
  readonly activation: { apply(x: Tensor): Tensor };
  readonly recurrentActivation: { apply(x: Tensor): Tensor };
  readonly biasInitializer: never;
  readonly biasRegularizer: never;
  readonly biasConstraint: never;
  readonly kernel: LayerVariable;
  readonly recurrentKernel: LayerVariable;
  bias: LayerVariable | null;
  dropoutMask: Tensor | Tensor[] | null;
  recurrentDropoutMask: Tensor | Tensor[] | null;
  build(inputShape: (number | null)[]): void;
}

/**
 * Adds Keras' default `reset_after` to `GRUCell`, which tfjs-layers 4.22 does not support. The gate resets the product
 * of the recurrent kernel and the state, so there are two biases.
 */
export const withResetAfter: (Base: LayerClass) => LayerClass = derivingOnce(
  (Base) =>
    class GRUCell extends Base {
      constructor(config: object) {
        super({ ...config, resetAfter: false });
      }

      override build(inputShape: (number | null)[]): void {
        const self = this as unknown as Cell;
        const { useBias } = self;
        (self as { useBias: boolean }).useBias = false;
        super.build(inputShape);
        (self as { useBias: boolean }).useBias = useBias;
        const { biasInitializer, biasRegularizer, biasConstraint } = self;
        if (useBias)
          self.bias = this.addWeight(
            "bias",
            [2, 3 * self.units],
            "float32",
            biasInitializer,
            biasRegularizer,
            true,
            biasConstraint,
          );
      }

      override call(inputs: Tensor | Tensor[], { training }: CallOptions = {}): Tensor[] {
        const self = this as unknown as Cell;
        return tidy(() => {
          const [x, h] = inputs as [Tensor, Tensor];
          self.dropoutMask ??= keptMask(x, self.dropout, training);
          self.recurrentDropoutMask ??= keptMask(h, self.recurrentDropout, training);
          const given = self.dropoutMask === null ? x : mul(x, self.dropoutMask as Tensor);
          const state = self.recurrentDropoutMask === null ? h : mul(h, self.recurrentDropoutMask as Tensor);
          const biases = self.bias === null ? [] : split(self.bias.read(), 2, 0);
          const parts = (value: Tensor, kernel: LayerVariable, bias: Tensor | undefined) => {
            const product = matMul(value, kernel.read());
            return split(bias === undefined ? product : add(product, bias), 3, -1) as [Tensor, Tensor, Tensor];
          };
          const [xz, xr, xh] = parts(given, self.kernel, biases[0]);
          const [hz, hr, hh] = parts(state, self.recurrentKernel, biases[1]);
          const z = self.recurrentActivation.apply(add(xz, hz));
          const r = self.recurrentActivation.apply(add(xr, hr));
          const candidate = self.activation.apply(add(xh, mul(r, hh)));
          const next = add(mul(z, h), mul(sub(1, z), candidate));
          return [next, next];
        });
      }

      override getConfig(): ReturnType<InstanceType<LayerClass>["getConfig"]> {
        return { ...super.getConfig(), resetAfter: true };
      }
    },
);

/** One mask for all steps of a sequence. The layer disposes of it before the next sequence. */
function keptMask(x: Tensor, rate: number, training: unknown): Tensor | null {
  return training === true && rate > 0 ? keep(dropout(onesLike(x), rate)) : null;
}

/** Keras' `GRU` with `reset_after`: the GRU of tfjs-layers around such a cell. */
export const withResetAfterCell: (Base: LayerClass) => LayerClass = derivingOnce(
  (Base) =>
    class GRU extends withOwnArguments(Base) {
      constructor(config: object) {
        super({ ...config, resetAfter: false });
        const self = this as unknown as { cell: Layer };
        const Cell = withResetAfter(self.cell.constructor as LayerClass);
        self.cell = new Cell({ ...config, name: self.cell.name });
      }
    },
);
