import type { TensorInfo } from "@tensorflow/tfjs-core";

/** Inputs of a kernel: tensors by name, or a list of them (`Concat`, `AddN`, `Pack`, `Einsum`). */
export type KernelInputs = Readonly<Record<string, TensorInfo | undefined>> | readonly TensorInfo[];
/** Attributes of a kernel by name. */
export type KernelAttributes = Readonly<Record<string, unknown>>;
/** Output of a kernel: one tensor or a list. */
export type KernelOutput = TensorInfo | TensorInfo[];
