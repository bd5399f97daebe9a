import { type DataId, getKernel, type KernelBackend, type TensorInfo } from "@tensorflow/tfjs-core";

/** What tfjs's wasm backend gives to its kernels, as far as ours need it. @internal */
export interface WasmBackend extends KernelBackend {
  makeOutput(shape: readonly number[], dtype: string): TensorInfo;
  typedArrayFromHeap(tensor: TensorInfo): Float32Array | Int32Array | Uint8Array;
  disposeData(dataId: DataId): boolean;
}

/** Runs another kernel of the backend, inside of one. @internal */
export function runWasmKernel(
  backend: WasmBackend,
  kernel: string,
  inputs: Readonly<Record<string, TensorInfo>>,
  attributes: Readonly<Record<string, unknown>>,
): TensorInfo {
  const { kernelFunc } = getKernel(kernel, "wasm");
  return kernelFunc({ inputs, attrs: attributes as never, backend }) as TensorInfo;
}

/** Values in the heap: valid until something is allocated, when the heap may grow. @internal */
export const floatsOf = (backend: WasmBackend, tensor: TensorInfo): Float32Array =>
  backend.typedArrayFromHeap(tensor) as Float32Array;
