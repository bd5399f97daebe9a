import { type serialization, type Tensor, tidy } from "@tensorflow/tfjs-core";
import { layers } from "@tensorflow/tfjs-layers";
import { isObject, type JsonObject } from "../json.js";
import type { Shape } from "../layer-note.js";
import { type Arguments, TensorShape } from "../operations/operation.js";
import { operationNamed } from "../operations/operations.js";

/** Arguments of {@link KerasOperation}. */
export interface KerasOperationArgs {
  readonly name?: string;
  readonly operation: string;
  /** The arguments by parameter. `{ input: i }`, also inside lists, stands for the layer's i-th input. */
  readonly arguments: JsonObject;
}

/** Stands for one of the inputs among the arguments of an operation. */
export interface InputReference {
  readonly input: number;
}

/**
 * A call of a tensor function as a layer without weights. Keras 2 writes it as `TFOpLambda` or `SlicingOpLambda`, and
 * Keras 3 as a class of `keras.ops`.
 */
export class KerasOperation extends layers.Layer {
  static readonly className = "KerasOperation";
  readonly #operation: string;
  readonly #arguments: JsonObject;

  constructor(args: KerasOperationArgs) {
    super({ name: args.name } as ConstructorParameters<typeof layers.Layer>[0]);
    this.#operation = args.operation;
    this.#arguments = args.arguments;
    this.supportsMasking = true;
  }

  override computeOutputShape(
    inputShape: (number | null)[] | (number | null)[][],
  ): (number | null)[] | (number | null)[][] {
    const shapes = (Array.isArray(inputShape[0]) ? inputShape : [inputShape]) as (number | null)[][];
    const found = operationNamed(this.#operation).shape(this.#bind(shapes.map((shape) => TensorShape.from(shape))));
    return Array.isArray(found[0]) ? (found as Shape[]).map((shape) => [...shape]) : [...(found as Shape)];
  }

  override call(inputs: Tensor | Tensor[]): Tensor | Tensor[] {
    const tensors = Array.isArray(inputs) ? inputs : [inputs];
    return tidy(() => operationNamed(this.#operation).run(this.#bind(tensors)));
  }

  /** Returns no mask for any output, since a mask of the input does not apply to the results of an operation. */
  override computeMask(inputs: Tensor | Tensor[]): Tensor | Tensor[] {
    const shapes = (Array.isArray(inputs) ? inputs : [inputs]).map(({ shape }) => shape as (number | null)[]);
    const made = this.computeOutputShape(shapes);
    const none = null as unknown as Tensor;
    return Array.isArray(made[0]) ? made.map(() => none) : none;
  }

  override getConfig(): serialization.ConfigDict {
    const own = { operation: this.#operation, arguments: structuredClone(this.#arguments) };
    return { ...super.getConfig(), ...(own as serialization.ConfigDict) };
  }

  #bind(inputs: readonly unknown[]): Arguments {
    return bind(this.#arguments, inputs) as Arguments;
  }
}

/** Returns whether an argument stands for an input. */
function isInputReference(value: unknown): value is InputReference {
  return isObject(value) && typeof value["input"] === "number" && Object.keys(value).length === 1;
}

function bind(value: unknown, inputs: readonly unknown[]): unknown {
  if (isInputReference(value)) return inputs[value.input];
  if (Array.isArray(value)) return value.map((item) => bind(item, inputs));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, bind(item, inputs)]));
}
