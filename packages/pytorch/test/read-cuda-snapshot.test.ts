import { EventKind } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { readCudaSnapshot, readSnapshotFailure } from "../src/index.js";
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
      notes: ["2 GPUs: the one with the most memory in use is shown"],
    });
  });

  it("ends at the last out-of-memory error, and describes it", () => {
    const [other, failed] = madeUpSnapshot().devices;
    const file = madeUpSnapshot({
      devices: [
        { ...other!, segments: [{ bytes: 90 * 2 ** 20, stream: 0, blocks: [] }] },
        {
          ...failed!,
          failures: [
            [1, 7, 3, 0, -1],
            [7, 64 * 2 ** 20, 12, 0, 0],
          ],
        },
      ],
    });
    const trace = readCudaSnapshot(file);
    expect(trace.header).toMatchObject({
      device: "cuda:1",
      failure: { cause: "kernel", askedBytes: 64 * 2 ** 20, op: "forward", line: "/home/a/model.py:12:1" },
      notes: ["2 GPUs: the one that ran out of memory is shown"],
    });
    // The allocation after the error is left out.
    expect(trace.ops.count).toBe(readCudaSnapshot(madeUpSnapshot()).ops.count - 1);
    expect(readSnapshotFailure(file)).toMatchObject({
      truncated: true,
      askedBytes: 64 * 2 ** 20,
      pooledBytes: undefined,
    });
    expect(readSnapshotFailure(madeUpSnapshot())).toBeUndefined();
  });

  it("has the blocks that the failed request could use", () => {
    const MiB = 2 ** 20;
    const [, { trace }] = madeUpSnapshot().devices;
    const block = (mib: number, isActive: number) => [0, mib * MiB, mib * MiB, isActive, -1] as const;
    const segments = [
      { bytes: 20 * MiB, stream: 0, blocks: [block(4, 1), block(6, 0), block(4, 1), block(6, 0)] },
      { bytes: 30 * MiB, stream: 7, blocks: [block(10, 1), block(20, 0)] },
      { bytes: 40 * MiB, stream: 0, isPrivate: 1, blocks: [block(40, 0)] },
    ];
    const failures = [[trace.length, 9 * MiB, 3, 0, 2]] as const;
    expect(readSnapshotFailure(madeUpSnapshot({ devices: [{ device: 3, segments, trace, failures }] }))).toEqual({
      device: 3,
      askedBytes: 9 * MiB,
      op: undefined,
      line: undefined,
      availableBytes: 3,
      truncated: false,
      inUseBytes: 18 * MiB,
      pooledBytes: 12 * MiB,
      largestFreeBytes: 6 * MiB,
      unusableBytes: 60 * MiB,
      sizes: [
        { bytes: 6 * MiB, inUse: 0, free: 2 },
        { bytes: 4 * MiB, inUse: 2, free: 0 },
      ],
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
    ["no devices", { ...madeUpSnapshot(), devices: [] }, "it has no device"],
    ["an unknown action", withDevice({ trace: [["explode", 0, 0, 0, -1]] }), "event 0: unknown action"],
    ["a stack that is not there", withDevice({ trace: [["alloc", 0, 1, 0, 7]] }), "event 0: expected one of 3 stacks"],
    ["bytes below 0", withDevice({ trace: [["alloc", 0, -1, 0, 0]] }), "event 0: expected an address"],
    ["half a failure", withDevice({ failures: [[1, 2]] }), "failure 0: expected five numbers"],
    ["a failure without its stack", withDevice({ failures: [[1, 2, 3, 0, 9]] }), "failure 0: expected one of 3 stacks"],
    ["half a block", withDevice({ segments: [{ bytes: 1, stream: 0, blocks: [[1, 2]] }] }), "five numbers"],
    ["a frame that is not there", { ...madeUpSnapshot(), stacks: [[9]] }, "stack 0: expected one of 4 frames"],
    ["a frame without a line", { ...madeUpSnapshot(), frames: [["a.py", "x", "f"]] }, "frame 0"],
  ])("refuses %s", (_, file, said) => {
    expect(() => readCudaSnapshot(file)).toThrow(said);
    expect(() => readCudaSnapshot(file)).toThrow("python -m remat snapshot");
  });

  const plain = madeUpSnapshot();
  const withFrame = (frame: unknown) => ({ ...plain, frames: [...plain.frames.slice(0, 3), frame] });
  const withStack = (stack: unknown) => ({ ...plain, stacks: [stack, [2], [0]] });
  const withBlock = (block: unknown) => withDevice({ segments: [{ bytes: 1, stream: 0, blocks: [block] }] });
  const withEvent = (event: unknown) => withDevice({ trace: [event] });
  /** Neither a count: one below 0, a fraction, a text, nothing. */
  const noCounts = [-1, 0.5, "1", null, undefined];
  /** A list with one of its fields replaced. */
  const replaced = (fields: readonly unknown[], at: number, by: unknown) =>
    fields.map((each, i) => (i === at ? by : each));

  const refused: readonly (readonly [file: unknown, said: string])[] = [
    ...[null, [], "text", 3].map((file) => [file, "the file: expected an object"] as const),
    [{ ...plain, schema: undefined }, "expected schema cuda-snapshot/1, found none"],
    [{ ...plain, settings: undefined }, "expected a text as 'settings'"],
    ...(["stacks", "frames", "devices"] as const).flatMap((field) =>
      [{}, "text", undefined].map(
        (value) => [{ ...plain, [field]: value }, `${field}: expected a list, found ${typeof value}`] as const,
      ),
    ),
    [withFrame("a.py:1"), "frame 3: expected a list, found string"],
    ...[3, null].map((name) => [withFrame([name, 1, "f"]), "frame 3: expected file, line and name"] as const),
    ...noCounts.map((line) => [withFrame(["a.py", line, "f"]), "frame 3: expected file, line and name"] as const),
    ...[3, null].map((name) => [withFrame(["a.py", 1, name]), "frame 3: expected file, line and name"] as const),
    [withStack(3), "stack 0: expected a list, found number"],
    ...[...noCounts, 4].map(
      (frame) => [withStack([0, frame]), `stack 0: expected one of 4 frames, found ${String(frame)}`] as const,
    ),
    ...[null, [1], "gpu"].map((device) => [{ ...plain, devices: [device] }, "device 0: expected an object"] as const),
    ...noCounts.map((device) => [withDevice({ device }), "device 0: expected its number"] as const),
    ...(["segments", "trace"] as const).map(
      (field) => [withDevice({ [field]: {} }), `${field}: expected a list, found object`] as const,
    ),
    ...[null, 3].map((segment) => [withDevice({ segments: [segment] }), "segment 0: expected an object"] as const),
    ...noCounts.flatMap((value) => [
      [
        withDevice({ segments: [{ bytes: value, stream: 0, blocks: [] }] }),
        "segment 0: expected 'bytes' and 'stream'",
      ] as const,
      [
        withDevice({ segments: [{ bytes: 1, stream: value, blocks: [] }] }),
        "segment 0: expected 'bytes' and 'stream'",
      ] as const,
    ]),
    [withDevice({ segments: [{ bytes: 1, stream: 0, blocks: 5 }] }), "blocks: expected a list, found number"],
    [withBlock(7), "block 0: expected a list, found number"],
    [withBlock([0, 1, 1, 1, -1, 0]), "block 0 of segment 0: expected five numbers"],
    [withBlock([0, 1, 1, 1]), "block 0 of segment 0: expected five numbers"],
    ...[0, 1, 2, 3].flatMap((field) =>
      noCounts.map(
        (value) =>
          [withBlock(replaced([0, 1, 1, 1, -1], field, value)), "block 0 of segment 0: expected five numbers"] as const,
      ),
    ),
    [withEvent(7), "event 0: expected a list, found number"],
    [withEvent(["alloc", 0, 1, 0]), "event 0: expected an address, bytes and a stream"],
    [withEvent(["alloc", 0, 1, 0, -1, 0]), "event 0: expected an address, bytes and a stream"],
    ...[1, 2, 3].flatMap((field) =>
      noCounts.map(
        (value) =>
          [
            withEvent(replaced(["alloc", 0, 1, 0, -1], field, value)),
            "event 0: expected an address, bytes and a stream",
          ] as const,
      ),
    ),
    ...[-2, 3, 0.5, null].flatMap((stack) => [
      [
        withBlock([0, 1, 1, 1, stack]),
        `block 0 of segment 0: expected one of 3 stacks or -1, found ${String(stack)}`,
      ] as const,
      [
        withEvent(["alloc", 0, 1, 0, stack]),
        `event 0: expected one of 3 stacks or -1, found ${String(stack)}`,
      ] as const,
    ]),
  ];
  it("refuses each field that is missing, of another type or out of range, and says which", () => {
    for (const [file, said] of refused) {
      const read = () => readCudaSnapshot(file);
      expect(read, JSON.stringify(file)).toThrow(`snapshot of the CUDA allocator: ${said}`);
      expect(read).toThrow(expect.objectContaining({ code: "CUDA_SNAPSHOT" }));
    }
  });

  it("takes the last frame, the last stack and zeros", () => {
    const zeros = {
      ...withDevice({
        device: 0,
        segments: [{ bytes: 0, stream: 0, blocks: [[0, 0, 0, 0, 2]] }],
        trace: [["alloc", 0, 0, 0, 2]],
      }),
      stacks: [[], [0], [3]],
      frames: [...plain.frames.slice(0, 3), ["", 0, ""]],
    };
    expect(() => readCudaSnapshot(zeros)).not.toThrow();
  });
});
