import { add, customGrad, mul, type serialization, sign, type Tensor } from "@tensorflow/tfjs-core";
import { isObject, type JsonObject } from "../json.js";
import type { LayerClass } from "./layer-class.js";
import type { CallOptions } from "./own-layer.js";

/**
 * Factors of Keras' `L1L2` for the magnitude and the square of each activation. A batch's penalty is divided by its
 * number of samples.
 */
export interface ActivityPenalty {
  readonly l1: number;
  readonly l2: number;
}

/** Reads an `activityRegularizer`. Undefined if none exists, or if its class is not Keras' own. */
export function readPenalty(regularizer: unknown): ActivityPenalty | undefined {
  if (!isObject(regularizer) || regularizer["className"] !== "L1L2") return undefined;
  const { l1, l2 } = (regularizer["config"] ?? {}) as JsonObject;
  return { l1: Number(l1 ?? 0), l2: Number(l2 ?? 0) };
}

/**
 * Returns `x` with the penalty's gradient added to its gradient. The reported loss does not include the penalty,
 * because tfjs-layers does not support losses that depend on inputs.
 */
export function penalize(x: Tensor, { l1, l2 }: ActivityPenalty): Tensor {
  if (l1 === 0 && l2 === 0) return x;
  const samples = x.shape[0] ?? 1;
  const penalized = customGrad((...args) => {
    const [value, save] = args as unknown as [Tensor, (tensors: Tensor[]) => void];
    save([value]);
    const gradFunc = (dy: Tensor, [saved]: Tensor[]): Tensor =>
      add(dy, add(mul(sign(saved as Tensor), l1 / samples), mul(saved as Tensor, (2 * l2) / samples)));
    return { value: value.clone(), gradFunc };
  });
  return penalized(x);
}

/** Returns a class that penalizes its outputs in training, where tfjs-layers would fail. */
export function withActivityPenalty(Base: LayerClass, penalty: ActivityPenalty): LayerClass {
  return class Penalized extends Base {
    constructor(config: object) {
      super({ ...config, activityRegularizer: null });
    }

    override getConfig(): serialization.ConfigDict {
      return { ...super.getConfig(), activityRegularizer: { className: "L1L2", config: { ...penalty } } };
    }

    override call(inputs: Tensor | Tensor[], options: CallOptions): Tensor | Tensor[] {
      const output = super.call(inputs, options as never);
      if (options.training !== true) return output;
      return Array.isArray(output) ? output.map((each) => penalize(each, penalty)) : penalize(output, penalty);
    }
  };
}
