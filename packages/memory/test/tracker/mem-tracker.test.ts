import {
  Category,
  parseTrace,
  resetModStatsMark,
  type Trace,
  TraceBuilder,
  traceNotes,
  writeTrace,
} from "@remat/trace";
import { describe, expect, it } from "vitest";
import { blocksModel } from "../../../sharding/test/blocks-model.js";
import { MemTracker, trackLive, trackMemory } from "../../src/tracker/index.js";
import { trainingStep } from "./training-step.js";

describe("one training step", () => {
  const { trace } = trainingStep();
  const tracker = new MemTracker().update(trace);

  it("peaks inside the kernel that copies its input", () => {
    expect(tracker.snapshot("peak")).toEqual([
      {
        device: "cpu",
        totalBytes: 1796,
        bytesByCategory: {
          parameter: 108,
          buffer: 20,
          gradient: 0,
          activation: 240,
          temporary: 1000,
          optimizerState: 108,
          other: 0,
          input: 320,
        },
      },
    ]);
    expect(tracker.peakBytes()).toBe(1796);
    expect(tracker.peakBytes("gpu")).toBe(0);
  });

  it("knows each module's bytes, and its states in their order", () => {
    const [model, dense] = tracker.modules();
    expect([model.fqn, model.kind, dense.fqn, dense.kind]).toEqual(["model", "Sequential", "model.dense", "Dense"]);
    const { parameterBytes, bufferBytes, inputBytes, outputBytes, gradientBytes, localPeakBytes } = dense;
    expect({ parameterBytes, bufferBytes, inputBytes, outputBytes, gradientBytes, localPeakBytes }).toEqual({
      parameterBytes: 108,
      bufferBytes: 0,
      inputBytes: 320,
      outputBytes: 120,
      gradientBytes: 108,
      localPeakBytes: { cpu: 108 + 20 + 108 + 320 + 240 + 4 + 120 + 108 },
    });
    expect(model.bufferBytes).toBe(20);
    const totals = (state: "preForward") => dense.snapshots.get(state)?.map(([{ totalBytes }]) => totalBytes);
    expect([...dense.snapshots.keys()].map((state) => [state, totals(state as "preForward")])).toEqual([
      ["peakForward", [1796]],
      ["preForward", [556]],
      ["postForward", [796]],
      ["peakBackward", [1028]],
      ["preBackward", [800]],
      ["postBackward", [1028]],
    ]);
  });

  it("shows what it holds in each unit, and a category that upstream lacks", () => {
    expect(tracker.displaySnapshot("current", "KiB")).toBe(
      "Device: cpu\n\tParameter: 0.11 KiB\n\tBuffer: 0.02 KiB\n\tGradient: 0.0 KiB\n\tActivation: 0.0 KiB\n\tTemp: 0.0 KiB\n" +
        "\tOptstate: 0.11 KiB\n\tOther: 0.0 KiB\n\tInput: 0.31 KiB\n\tTotal: 0.54 KiB\n",
    );
    expect(tracker.displaySnapshot("current", "GiB")).toBe("");
    expect(new MemTracker().displaySnapshot()).toBe("No memory tracked.\n");
  });

  it("says the same from a file", () => {
    const read = parseTrace(Buffer.concat([...writeTrace(trace, { gzip: true })]));
    const again = new MemTracker().update(read);
    expect(again.modules()).toEqual(tracker.modules());
    expect(again.displayModulewiseSnapshots(9, "B", true)).toBe(tracker.displayModulewiseSnapshots(9, "B", true));
  });

  it("shows what is called external as such, before and after it is allocated", () => {
    const external = new MemTracker();
    external.trackExternal([4]);
    external.update(trace, 4);
    external.trackExternal([3], Category.buffer);
    external.update(trace);
    const [{ bytesByCategory }] = external.snapshot();
    expect(bytesByCategory).toMatchObject({ other: 12, buffer: 20 + 96, optimizerState: 0 });
    const largest = external.peakMoment().largest.map(({ storage, category }) => [storage, category]);
    expect(largest).toContainEqual([3, "buffer"]);
  });

  it("hands layers, optimizers and tensors to the recorder that it follows, one by one", () => {
    const seen: object[] = [];
    const live = trackLive({ trace: () => trace, trackExternal: (external) => void seen.push(external) });
    const [model, optimizer, x, y] = [{ model: 1 }, { optimizer: 1 }, { x: 1 }, { y: 1 }];
    live.trackExternal(model, optimizer, null, [x, [y]]);
    expect(seen).toEqual([model, optimizer, x, y]);
    expect(() => new MemTracker().trackExternal(model)).toThrow("use trackLive(recorder)");
    expect(() => live.trackExternal("model" as never)).toThrow("a layer, an optimizer or a tensor");
  });
});

describe("a run in which updates replace parameters, and gradients are known late", () => {
  it("knows each module's bytes all the same", () => {
    const bytes = (options: object) =>
      trackMemory(blocksModel({ steps: 3, ...options }))
        .modules()
        .map((m) => [m.fqn, m.parameterBytes, m.gradientBytes]);
    const expected = [
      ["net", 340, 340],
      ["net.blocks.0", 160, 160],
      ["net.blocks.1", 160, 160],
    ];
    expect(bytes({})).toEqual(expected);
    expect(bytes({ replaces: true, lateGradients: true })).toEqual(expected);
  });
});

describe("several iterations", () => {
  it("are refused without a reset, as upstream does", () => {
    expect(() => new MemTracker().update(trainingStep(2).trace)).toThrow(
      expect.objectContaining({
        code: "MEMORY_SECOND_ITERATION",
        message: expect.stringContaining("model is called a second time"),
      }),
    );
  });

  it("start anew at the mark, at a call of resetModStats, or by option", () => {
    const one = new MemTracker().update(trainingStep().trace).modules();
    expect(new MemTracker().update(trainingStep(3, resetModStatsMark).trace).modules()).toEqual(one);
    expect(trackMemory(trainingStep(3).trace).modules()).toEqual(one);
    const { trace } = trainingStep(2, "second");
    const second = Array.from(trace.events.kind).findIndex(
      (kind, i) => kind === 10 && trace.strings[trace.events.subject[i]] === "second",
    );
    const tracker = new MemTracker().update(trace, second);
    tracker.resetModStats();
    expect(tracker.modules()).toEqual([]);
    expect(tracker.update(trace).modules()).toEqual(one);
  });
});

describe("bad input", () => {
  const header = { framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 } as const;
  const refuses = (build: (b: TraceBuilder) => void, message: string): void => {
    const b = new TraceBuilder(header);
    build(b);
    expect(() => new MemTracker().update(b.build())).toThrow(
      expect.objectContaining({ code: "TRACE_EVENT_ORDER", message }),
    );
  };

  it("refuses events out of order, saying what was found and expected", () => {
    const next = "Record the trace again. If the error persists, report a bug in the program that wrote it.";
    refuses(
      (b) => [b.allocate(4), b.free(0), b.free(0)],
      `event 2 (free) is out of order: storage 0 was freed before; expected one that is alive. ${next}`,
    );
    refuses(
      (b) => [b.allocate(4), b.free(0), b.resize(0, 8)],
      `event 2 (resize) is out of order: storage 0 was freed before; expected one that is alive. ${next}`,
    );
    refuses(
      (b) => [b.allocate(4), b.free(0), b.categorize(0, Category.gradient)],
      `event 2 (categorize) is out of order: storage 0 was freed before; expected one that is alive. ${next}`,
    );
    refuses(
      (b) => b.exitModule(b.call(b.module({ fqn: "m", kind: "M", leaf: true }), -1, false)),
      "event 0 is out of order: for module m its forward pass ends, but its forward pass did not begin. Record the trace again from before the first call.",
    );
    refuses(
      (b) => b.enterModule(b.call(b.module({ fqn: "m", kind: "M", leaf: true }), -1, false), 1),
      "event 0 is out of order: for module m its backward pass begins, but its forward pass did not begin. Record the trace again from before the first call.",
    );
  });

  it("refuses a storage that is freed before it is allocated", () => {
    const { trace } = trainingStep();
    const kind = trace.events.kind.slice();
    kind[0] = 2;
    const changed = Object.assign(Object.create(Object.getPrototypeOf(trace) as object), trace, {
      events: { ...trace.events, kind },
    }) as Trace;
    expect(() => new MemTracker().update(changed)).toThrow(/event 0 \(free\) .* storage 0 was not allocated yet/);
  });

  it("refuses kinds of snapshots and units that do not exist", () => {
    const tracker = new MemTracker();
    expect(() => tracker.snapshot("last" as "peak")).toThrow(expect.objectContaining({ code: "MEMORY_SNAPSHOT_KIND" }));
    expect(() => tracker.displaySnapshot("peak", "MB" as "MiB")).toThrow(
      expect.objectContaining({ code: "UNKNOWN_UNIT" }),
    );
    expect(() => tracker.displayModulewiseSnapshots(2, "kB" as "KiB")).toThrow(
      expect.objectContaining({ code: "UNKNOWN_UNIT" }),
    );
    expect(() => tracker.peakMoment()).toThrow(expect.objectContaining({ code: "MEMORY_NO_EVENTS" }));
  });

  it("refuses a trace without lifetimes or backward pass", () => {
    const b = new TraceBuilder(header);
    b.op({ name: "Relu", outputs: [b.tensor({ storage: b.allocate(4), dtype: "float32", shape: [] })] });
    expect(() => trackMemory(b.build())).toThrow(
      expect.objectContaining({
        code: "TRACE_NO_LIFETIMES",
        message: expect.stringContaining("it has 1 allocations but no frees"),
      }),
    );
    b.free(0);
    expect(() => trackMemory(b.build())).toThrow(
      expect.objectContaining({
        code: "TRACE_NO_BACKWARD",
        message: expect.stringContaining("the trace has 1 ops but no backward pass"),
      }),
    );
    expect(trackMemory(b.build(), { forwardOnly: true }).peakBytes()).toBe(4);
  });

  it("analyses a trace up to where it breaks off, and says so", () => {
    const lines = Buffer.concat([...writeTrace(trainingStep().trace)])
      .toString()
      .split("\n");
    const end = lines.findIndex((line) => line.startsWith('{"t":"op","id":0')) + 1;
    const cut = parseTrace(lines.slice(0, end).join("\n"));
    expect(trackMemory(cut).peakBytes()).toBe(676);
    expect(traceNotes(cut)).toEqual([
      `the trace is cut short after line ${end} (there is no end record), because recording was stopped or the disk was full: all figures are for the part before. Record it again`,
    ]);
    expect(traceNotes(trainingStep().trace)).toEqual([]);
  });
});
