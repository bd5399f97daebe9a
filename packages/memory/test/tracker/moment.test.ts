import { momentAt, peakMoment } from "@remat/memory";
import { Category, Phase, TraceBuilder } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { displayMoment, MemTracker } from "../../src/tracker/index.js";
import { trainingStep } from "./training-step.js";

const { trace } = trainingStep();

describe("peakMoment", () => {
  it("names the op and the module, and who made the largest storages", () => {
    expect(new MemTracker().update(trace).peakMoment({ limit: 4 })).toEqual({
      event: 12,
      at: { op: 1, opName: "Softmax", phase: "forward", module: "model.dense" },
      device: "cpu",
      totalBytes: 1796,
      bytesByCategory: {
        input: 320,
        parameter: 108,
        buffer: 20,
        activation: 240,
        temporary: 1000,
        optimizerState: 108,
      },
      storageCount: 9,
      largest: [
        {
          storage: 7,
          bytes: 1000,
          category: "temporary",
          dtype: undefined,
          shape: undefined,
          maker: { op: 1, opName: "Softmax", phase: "forward", module: "model.dense" },
          scratchPieces: 1,
        },
        { storage: 5, bytes: 320, category: "input", dtype: "float32", shape: [10, 8], maker: undefined },
        {
          storage: 6,
          bytes: 120,
          category: "activation",
          dtype: "float32",
          shape: [10, 3],
          maker: { op: 0, opName: "_FusedMatMul", phase: "forward", module: "model.dense" },
        },
        {
          storage: 8,
          bytes: 120,
          category: "activation",
          dtype: "float32",
          shape: [10, 3],
          maker: { op: 1, opName: "Softmax", phase: "forward", module: "model.dense" },
        },
      ],
    });
  });
});

describe("the scratch of the op that runs", () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "real", allocationUnitBytes: 1 });
  const make = (bytes: number): [storage: number, tensor: number] => {
    const storage = b.allocate(bytes, "cpu", Category.activation);
    return [storage, b.tensor({ storage, dtype: "float32", shape: [bytes / 4] })];
  };
  const op = (name: string, input: number, output: number) =>
    b.op({ name, phase: Phase.forward, inputs: [input], outputs: [output], runtimeMs: 1 });
  const [, x] = make(400);
  const [, y] = make(400);
  op("Relu", x, y);
  const pieces = [60, 40, 80].map((bytes) => b.allocate(bytes, "cpu", Category.temporary));
  const [, sum] = make(40);
  for (const piece of pieces) b.free(piece);
  op("Sum", y, sum);
  const scratched = b.build();

  it("is one row, with how many storages it is", () => {
    const moment = peakMoment(scratched, { limit: 4 });
    expect(moment).toMatchObject({ totalBytes: 1020, storageCount: 6, at: { opName: "Sum" } });
    expect(moment.largest.map(({ bytes, maker, scratchPieces }) => [bytes, maker?.opName, scratchPieces])).toEqual([
      [400, undefined, undefined],
      [400, "Relu", undefined],
      [180, "Sum", 3],
      [40, "Sum", undefined],
    ]);
    expect(displayMoment(moment)).toMatch(/180 B +Temp +Sum \(scratch in 3 pieces of op 1\)/);
    expect(momentAt(scratched, { op: 1 }).largest.map(({ bytes }) => bytes)).toEqual([400, 400, 40]);
  });
});

describe("momentAt", () => {
  it("is after an op, an event, or a mark", () => {
    expect(momentAt(trace, { op: 1 }).totalBytes).toBe(796);
    expect(momentAt(trace, { op: 3 })).toMatchObject({
      totalBytes: 920,
      at: { opName: "SoftmaxGrad", phase: "backward" },
    });
    expect(momentAt(trace, { event: 0 })).toMatchObject({ totalBytes: 96, storageCount: 1 });
    const marked = trainingStep(2, "second").trace;
    expect(momentAt(marked, { mark: "second" })).toMatchObject({ totalBytes: 556, at: { opName: "Add" } });
    expect(momentAt(trace, { event: 0 }, { device: "gpu" })).toMatchObject({ totalBytes: 0, largest: [] });
  });

  it.each([
    [{ op: 99 }, "the trace has no op 99: expected from 0 to 6."],
    [{ event: -1 }, `the trace has no event -1: expected from 0 to ${trace.events.count - 1}.`],
    [{ mark: "end" }, 'the trace has no mark "end": expected one of (none).'],
  ])("refuses %j", (place, message) => {
    expect(() => momentAt(trace, place)).toThrow(expect.objectContaining({ code: "MEMORY_NO_SUCH_MOMENT", message }));
  });
});

describe("displayMoment", () => {
  it("is a sentence, the categories and a table", () => {
    expect(displayMoment(momentAt(trace, { op: 4 }, { limit: 3 }), "B")).toBe(
      [
        "cpu holds 1028 B in 12 storages at op 4, MatMul (backward), in model.dense.",
        "\tParameter: 108 B",
        "\tBuffer: 20 B",
        "\tInput: 320 B",
        "\tActivation: 244 B",
        "\tTemp: 228 B",
        "\tOptstate: 108 B",
        "======  ==========  ===============  ===================  ===========",
        "Size    Category    Tensor           Made by              In module",
        "======  ==========  ===============  ===================  ===========",
        "320 B   Input       float32 [10, 8]",
        "120 B   Activation  float32 [10, 3]  _FusedMatMul (op 0)  model.dense",
        "120 B   Activation  float32 [10, 3]  Softmax (op 1)       model.dense",
        "======  ==========  ===============  ===================  ===========",
        "",
      ].join("\n"),
    );
  });
});
