import type { KernelAttributes, KernelInputs, OpDone } from "@remat/dispatch-hook";
import type { ConstantData } from "@remat/dispatch-hook/residency";
import type { TensorInfo } from "@tensorflow/tfjs-core";
import type { Recipe, StoredData } from "./stored-data.js";

/** Returns the recipe that repeats an op, given the ledger's record of it. @internal */
export function recipeOfOp(
  { kernel, inputs, attributes, sequence }: OpDone,
  { sources, outputs, isView, costMs, op }: Pick<Recipe, "sources" | "outputs" | "isView" | "costMs" | "op">,
): Recipe {
  return {
    kernel,
    inputs: copyInputs(inputs),
    attributes: copyAttributes(attributes),
    sequence,
    sources,
    outputs,
    isView,
    costMs,
    op,
    planned: -1,
  };
}

/** Returns the recipe of data that JavaScript filled, which needs no kernel. @internal */
export function recipeOfConstant(data: StoredData, constant: ConstantData): Recipe {
  return {
    kernel: "",
    inputs: {},
    attributes: undefined,
    sources: [],
    outputs: [data],
    isView: false,
    costMs: 0,
    op: -1,
    planned: -1,
    constant,
  };
}

/** Copies the inputs without the tensors, which may be disposed of or, for variables, get other data. */
function copyInputs(inputs: KernelInputs): Readonly<Record<string, TensorInfo>> | readonly TensorInfo[] {
  if (Array.isArray(inputs)) return (inputs as readonly TensorInfo[]).map(copyInput);
  const named = inputs as Readonly<Record<string, TensorInfo | undefined>>;
  const copied: Record<string, TensorInfo> = {};
  for (const name in named) {
    const input = named[name];
    if (input != null) copied[name] = copyInput(input);
  }
  return copied;
}

const copyInput = ({ dataId, shape, dtype }: TensorInfo): TensorInfo => ({ dataId, shape, dtype });

/** Copies lists, since they may belong to the user and change later. */
function copyAttributes(attributes: KernelAttributes | undefined): KernelAttributes | undefined {
  if (attributes == null) return undefined;
  const copied: Record<string, unknown> = {};
  for (const name in attributes) copied[name] = copyList(attributes[name]);
  return copied;
}

const copyList = (value: unknown): unknown => (Array.isArray(value) ? value.map(copyList) : value);
