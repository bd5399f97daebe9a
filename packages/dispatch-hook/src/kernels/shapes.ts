import { RematError } from "@remat/trace";
import type { DataType, TensorInfo } from "@tensorflow/tfjs-core";
import type { KernelCall } from "./kernel-call.js";

/** Throws the error for inputs or attributes that contradict each other. The real kernel also throws. */
export function mismatch(call: KernelCall, found: string): never {
  throw new RematError("KERNEL_ARGUMENTS", `Kernel ${call.kernel} cannot run: ${found}.`);
}

/** Returns the number of elements. */
export function sizeOf(shape: readonly number[]): number {
  let size = 1;
  for (let i = 0; i < shape.length; i++) size *= shape[i];
  return size;
}

export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Returns the shape that two shapes broadcast to, as one of the given arrays if possible. */
export function broadcast(a: number[], b: number[], call: KernelCall): number[] {
  if (a === b || b.length === 0 || sameShape(a, b)) return a;
  if (a.length === 0) return b;
  const rank = Math.max(a.length, b.length);
  const shape = new Array<number>(rank);
  for (let i = 1; i <= rank; i++) {
    const m = i <= a.length ? a[a.length - i] : 1;
    const n = i <= b.length ? b[b.length - i] : 1;
    if (m !== n && m !== 1 && n !== 1) mismatch(call, `shapes [${a}] and [${b}] do not broadcast`);
    shape[rank - i] = m === 1 ? n : m;
  }
  return shape;
}

/** Rejects complex tensors, as most cpu and wasm kernels do. Native kernels support them. */
export function refuseComplex(call: KernelCall, x: TensorInfo): void {
  if (x.dtype === "complex64" && !call.traits.takesComplex) mismatch(call, "complex64 tensors are not supported");
}

/** Returns `axis` counted from the front. */
export function axisOf(axis: number, rank: number, call: KernelCall): number {
  if (!Number.isInteger(axis) || axis < -rank || axis >= rank)
    mismatch(call, `axis ${axis} is not in [-${rank}, ${rank})`);
  return axis < 0 ? axis + rank : axis;
}

/** Returns the dtype of sums. Bools are counted. */
export function sumDtype(dtype: DataType): DataType {
  return dtype === "bool" ? "int32" : dtype;
}

/** Rejects a window that is larger than its input, for which the output size would be negative. */
export function fitting<Info extends { readonly outShape: number[] }>(info: Info, call: KernelCall): Info {
  for (const length of info.outShape) {
    if (length < 0) mismatch(call, `the window does not fit: the output would have shape [${info.outShape}]`);
  }
  return info;
}

type Rounding = "floor" | "round" | "ceil";

/**
 * Returns padding and rounding as the backend interprets them. tfjs-core uses the height of window and stride also for
 * the width if the padding is a number. The native backend treats 0 as `valid`, and always rounds down.
 */
export function paddingOf<Pad>(
  pad: Pad,
  rounding: Rounding | undefined,
  call: KernelCall,
): [Pad | "valid", Rounding | undefined] {
  if (!call.traits.roundsWindowsDown) return [pad, rounding];
  return [pad === 0 ? "valid" : pad, "floor"];
}
