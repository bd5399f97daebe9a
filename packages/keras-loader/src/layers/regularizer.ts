import { add, mul, square, sum, type Tensor, tidy } from "@tensorflow/tfjs-core";
import { abs } from "../operations/kinks.js";
import type { LayerClass } from "./layer-class.js";

/** A regularizer of tfjs-layers. */
interface L1L2 {
  readonly l1: number;
  readonly l2: number;
}

/** Returns `L1L2` with gradient 0 for weights of 0, such as biases before the first step. In tfjs-layers it is -l1. */
export function withKerasMagnitude(stock: LayerClass): LayerClass {
  const Stock = stock as unknown as new (config: object) => L1L2;
  return class extends Stock {
    apply(x: Tensor): Tensor {
      return tidy(() => {
        const ofMagnitudes = sum(mul(this.l1, abs(x)));
        return this.l2 === 0 ? ofMagnitudes : add(ofMagnitudes, sum(mul(this.l2, square(x))));
      });
    }
  } as unknown as LayerClass;
}
