import { type DataId, getKernel, type KernelBackend, type TensorInfo } from "@tensorflow/tfjs-core";

/** The part of the wasm backend's interface for kernels that ours use. @internal */
export interface WasmBackend extends KernelBackend {
  makeOutput(shape: readonly number[], dtype: string): TensorInfo;
  typedArrayFromHeap(tensor: TensorInfo): Float32Array | Int32Array | Uint8Array;
  disposeData(dataId: DataId): boolean;
}

/** Runs another kernel of the backend inside a kernel. @internal */
export function runWasmKernel(
  backend: WasmBackend,
  kernel: string,
  inputs: Readonly<Record<string, TensorInfo>>,
  attributes: Readonly<Record<string, unknown>>,
): TensorInfo {
  const { kernelFunc } = getKernel(kernel, "wasm");
  return kernelFunc({ inputs, attrs: attributes as never, backend }) as TensorInfo;
}

/** Returns values in the heap. Valid until the next allocation, which may grow the heap. @internal */
export const floatsOf = (backend: WasmBackend, tensor: TensorInfo): Float32Array =>
  backend.typedArrayFromHeap(tensor) as Float32Array;
