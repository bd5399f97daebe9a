import { EventKind } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { readCudaSnapshot } from "../src/index.js";
import { madeUpSnapshot } from "./cuda-snapshots.js";

describe("readCudaSnapshot", () => {
  it("tells what was there before, what came and went, and who asked for it", () => {
    const trace = readCudaSnapshot(madeUpSnapshot());
    const { events, storages } = trace;
    const log = Array.from({ length: events.count }, (_, event) => {
      const item = events.subject[event];
      if (events.kind[event] === EventKind.allocate) return `+${storages.bytes[item]}`;
      if (events.kind[event] === EventKind.free) return `-${storages.bytes[item]}`;
      return trace.opName(item);
    });
    expect(log).toEqual([
      "+3145728",
      "no stack",
      "+3145724",
      "train.py:7 step < train.py:20 <module>",
      "+2097152",
      "model.py:12 forward < train.py:20 <module>",
      "-3145728",
      "+12582912",
      "train.py:7 step < train.py:20 <module>",
      "+31457180",
      // Nothing of the program is in it.
      "linear.py:134 forward",
      "-12582912",
      "+1024",
      "no stack",
    ]);
    expect(trace.opLine(2)).toBe("/home/a/model.py:12:1");
    expect(trace.header).toMatchObject({
      device: "cuda:1",
      allocationUnitBytes: 512,
      allocator: { settings: "", reservedPeakBytes: 62 * 2 ** 20 },
      notes: ["2 GPUs: that which holds most is shown"],
    });
  });

  it("says of a snapshot without a history that it is a moment", () => {
    const { devices } = madeUpSnapshot();
    const trace = readCudaSnapshot(madeUpSnapshot({ devices: devices.map((device) => ({ ...device, trace: [] })) }));
    expect(trace.ops.count).toBe(4);
    expect(trace.header.notes?.[0]).toContain("_record_memory_history");
  });

  const [, device] = madeUpSnapshot().devices;
  const withDevice = (changed: object) => ({ ...madeUpSnapshot(), devices: [{ ...device, ...changed }] });
  it.each([
    ["another schema", { ...madeUpSnapshot(), schema: "cuda-snapshot/9" }, "expected schema cuda-snapshot/1"],
    ["no object", [1], "expected an object"],
    ["no devices", { ...madeUpSnapshot(), devices: [] }, "of no device"],
    ["an unknown action", withDevice({ trace: [["explode", 0, 0, 0, -1]] }), "event 0: unknown action"],
    ["a stack that is not there", withDevice({ trace: [["alloc", 0, 1, 0, 7]] }), "event 0: expected one of 3 stacks"],
    ["bytes below 0", withDevice({ trace: [["alloc", 0, -1, 0, 0]] }), "event 0: expected an address"],
    ["half a block", withDevice({ segments: [{ bytes: 1, stream: 0, blocks: [[1, 2]] }] }), "five numbers"],
    ["a frame that is not there", { ...madeUpSnapshot(), stacks: [[9]] }, "stack 0: expected one of 4 frames"],
    ["a frame without a line", { ...madeUpSnapshot(), frames: [["a.py", "x", "f"]] }, "frame 0"],
  ])("refuses %s", (_, file, said) => {
    expect(() => readCudaSnapshot(file)).toThrow(said);
    expect(() => readCudaSnapshot(file)).toThrow("python -m remat snapshot");
  });
});
