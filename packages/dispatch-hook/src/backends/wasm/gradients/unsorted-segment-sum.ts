import { elementsOf } from "@remat/trace";
import type { TensorInfo, UnsortedSegmentSumAttrs } from "@tensorflow/tfjs-core";
import { floatsOf, type WasmBackend } from "./wasm-backend.js";

/**
 * Sums rows of x by segment number, as the gradient of `gather` does. Rows that are in no segment are left out.
 * @internal
 */
export function unsortedSegmentSum({
  inputs: { x, segmentIds },
  attrs: { numSegments },
  backend,
}: {
  readonly inputs: Readonly<Record<"x" | "segmentIds", TensorInfo>>;
  readonly attrs: UnsortedSegmentSumAttrs;
  readonly backend: WasmBackend;
}): TensorInfo {
  const rowShape = x.shape.slice(1);
  const out = backend.makeOutput([numSegments, ...rowShape], "float32");
  const length = elementsOf(rowShape);
  const [rows, sums, ids] = [floatsOf(backend, x), floatsOf(backend, out).fill(0), floatsOf(backend, segmentIds)];
  for (let row = 0; row < x.shape[0]; row++) {
    const segment = ids[row];
    if (segment < 0 || segment >= numSegments) continue;
    for (let i = 0; i < length; i++) sums[segment * length + i] += rows[row * length + i];
  }
  return out;
}
