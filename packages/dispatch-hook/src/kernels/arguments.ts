import type { TensorInfo } from "@tensorflow/tfjs-core";

/** What a kernel is given: tensors by name, or a list of them (`Concat`, `AddN`, `Pack`, `Einsum`). */
export type KernelInputs = Readonly<Record<string, TensorInfo | undefined>> | readonly TensorInfo[];
export type KernelAttributes = Readonly<Record<string, unknown>>;
export type KernelOutput = TensorInfo | TensorInfo[];
