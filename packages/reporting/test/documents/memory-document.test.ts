import { TraceBuilder, traceNotes } from "@remat/trace";
import { expect, it } from "vitest";
import { memoryDocument } from "../../src/documents/index.js";
import { summarizeMemory } from "../../src/index.js";

/** A step that holds memory on the devices named. */
function heldOn(...devices: readonly string[]) {
  const b = new TraceBuilder({ framework: "pytorch", device: "cuda:0", mode: "real", allocationUnitBytes: 1 });
  for (const device of ["cuda:0", ...devices]) {
    const storage = b.allocate(4096, device);
    b.op({ name: "aten.relu", outputs: [b.tensor({ storage, dtype: "float32", shape: [32, 32] })] });
    b.free(storage);
  }
  return b.build({ line: 9, reason: "the file ends" });
}

const toldOf = (trace: ReturnType<typeof heldOn>): string =>
  JSON.stringify(memoryDocument(summarizeMemory(trace, { forwardOnly: true })).parts());

it("tells what other accelerators hold, which the peak is not about, and nothing of the host's", () => {
  expect(toldOf(heldOn("cuda:1"))).toContain("other devices: peak memory 4 KiB on cuda:1");
  expect(toldOf(heldOn("cpu"))).not.toContain("other devices");
});

it("tells that the trace breaks off in the words that all views have for it", () => {
  const trace = heldOn();
  const [note] = traceNotes(trace);
  expect(note).toBe(
    "the trace is damaged after line 9 (the file ends): all figures are for the part before. Record it again",
  );
  expect(toldOf(trace)).toContain(`note: ${note}`);
});
