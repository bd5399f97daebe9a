import { serialization, type Tensor, tidy } from "@tensorflow/tfjs-core";
import type { Arguments } from "../operations/operation.js";
import { operationNamed } from "../operations/operations.js";

/** Makes an activation class from an operation of this package, for tfjs-layers to find by name. */
function activation(className: string, operation: string, args: Arguments = {}): typeof serialization.Serializable {
  return class extends serialization.Serializable {
    static readonly className = className;

    apply(x: Tensor): Tensor {
      return tidy(() => operationNamed(operation).run({ ...args, x }) as Tensor);
    }

    override getConfig(): serialization.ConfigDict {
      return {};
    }
  } as unknown as typeof serialization.Serializable;
}

/** Activations that tfjs-layers lacks, by the names that tfjs-layers looks for. */
const supplied: Readonly<Record<string, typeof serialization.Serializable>> = {
  exponential: activation("exponential", "exp"),
  hardSilu: activation("hardSilu", "hardSilu"),
  hardSwish: activation("hardSwish", "hardSilu"),
  leakyRelu: activation("leakyRelu", "leakyRelu"),
  logSigmoid: activation("logSigmoid", "logSigmoid"),
  seluOfKeras: activation("seluOfKeras", "selu"),
  hardSigmoidOfKeras3: activation("hardSigmoidOfKeras3", "hardSigmoid"),
};

/** The names of the activations that this package supplies. */
export const suppliedActivations: readonly string[] = Object.keys(supplied);

/** Returns the class of a supplied activation, or undefined. */
export function suppliedActivation(name: string): typeof serialization.Serializable | undefined {
  return Object.hasOwn(supplied, name) ? supplied[name] : undefined;
}
