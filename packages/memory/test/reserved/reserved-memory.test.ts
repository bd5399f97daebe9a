import { Category, TraceBuilder } from "@remat/trace";
import { expect, it } from "vitest";
import { heldPeak } from "../../src/index.js";
import { parseAllocatorSettings, reservedMemory } from "../../src/reserved/index.js";

const MiB = 2 ** 20;

/** Two tensors of which one goes, a third of twice the size, and one on the host; then a storage that is freed and comes again by a resize. */
function madeUpTrace() {
  const b = new TraceBuilder({ framework: "pytorch", device: "cuda:0", mode: "real", allocationUnitBytes: 512 });
  const op = (bytes: number, device = "cuda:0") => {
    const storage = b.allocate(bytes, device, Category.activation);
    b.op({ name: "aten.op", outputs: [b.tensor({ storage, dtype: "float32", shape: [bytes / 4] })] });
    return storage;
  };
  const first = op(12 * MiB);
  op(12 * MiB);
  op(100 * MiB, "cpu");
  b.free(first);
  const last = op(24 * MiB);
  b.resize(last, 0);
  b.resize(last, 12 * MiB);
  op(0);
  return b.build();
}

it("tells what is reserved for what a trace holds, more than which is left over by what was freed", () => {
  const trace = madeUpTrace();
  const reserved = reservedMemory(trace);
  expect(reserved.allocatedPeakBytes).toBe(heldPeak(trace).peakBytes);
  expect({
    allocated: [...reserved.allocatedBytes].map((bytes) => bytes / MiB),
    reserved: [...reserved.reservedBytes].map((bytes) => bytes / MiB),
  }).toEqual({ allocated: [12, 24, 24, 36, 24], reserved: [12, 24, 24, 48, 48] });
});

it("reserves less where segments can grow", () => {
  const reserved = reservedMemory(madeUpTrace(), parseAllocatorSettings("expandable_segments:True"));
  expect(reserved.reservedPeakBytes / MiB).toBe(60);
});
