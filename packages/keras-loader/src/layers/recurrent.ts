import type { Tensor } from "@tensorflow/tfjs-core";
import type { SymbolicTensor } from "@tensorflow/tfjs-layers";
import { derivingOnce, type Layer, type LayerClass } from "./layer-class.js";

type Value = Tensor | Tensor[] | SymbolicTensor | SymbolicTensor[];

/**
 * A recurrent class that writes its initial state into arguments of its own. tfjs-layers 4.22 writes it into the arguments that the whole
 * model's execution shares, so that every recurrent layer after one with an initial state starts from that state, too.
 */
export const withOwnArguments: (Base: LayerClass) => LayerClass = derivingOnce(
  (Base) =>
    class Recurrent extends Base {
      override apply(inputs: Value, options?: Parameters<Layer["apply"]>[1]): Value {
        return super.apply(inputs, { ...options });
      }
    },
);
