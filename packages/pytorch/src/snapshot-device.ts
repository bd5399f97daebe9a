import { itemAt } from "@remat/trace";
import type { CudaSnapshotFile, SnapshotOfDevice } from "./cuda-snapshot-file.js";

/** A frame of a stack in a snapshot. */
export type SnapshotFrame = CudaSnapshotFile["frames"][number];

/** Returns the GPU that ran out of memory, or else the one with the most reserved memory. @internal */
export function deviceOfSnapshot({ devices }: CudaSnapshotFile): SnapshotOfDevice {
  const reserved = (one: SnapshotOfDevice): number => one.segments.reduce((sum, { bytes }) => sum + bytes, 0);
  const failed = devices.filter(({ failures = [] }) => failures.length > 0);
  const [device] = (failed.length > 0 ? failed : devices).toSorted((a, b) => reserved(b) - reserved(a));
  return device as SnapshotOfDevice;
}

/** Returns the frames of a stack, innermost first. Empty for -1. @internal */
export function framesOfStack({ stacks, frames }: CudaSnapshotFile, stack: number): readonly SnapshotFrame[] {
  return stack < 0 ? [] : itemAt(stacks, stack).map((frame) => itemAt(frames, frame));
}

/** Returns the place of a frame as `file:line`. @internal */
export function lineOfFrame([file, line]: SnapshotFrame): string {
  return `${file}:${line}`;
}

/** Returns whether a file belongs to the program instead of a library or C++ code. @internal */
export function isOfProgram(file: string): boolean {
  return (
    /\.py$|^<(?!built-in|frozen|string)/.test(file) && !/\/(site-packages|dist-packages|lib\/python[\d.]+)\//.test(file)
  );
}
