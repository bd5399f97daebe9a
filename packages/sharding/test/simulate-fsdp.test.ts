import { memoryTimeline } from "@remat/memory";
import { MemTracker } from "@remat/memory/tracker";
import { Category, type CategoryName, type OpRecord, Phase, type Trace, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ShardingPlan, simulateFsdp } from "../src/index.js";
import { blocksModel } from "./blocks-model.js";

const plan = (more: Partial<ShardingPlan> = {}): ShardingPlan => ({ worldSize: 4, wrap: ["blocks.*"], ...more });

/** After each op of the run: its name, and the bytes in total and by category on the device. */
function log(trace: Trace, ...categories: CategoryName[]): string[] {
  const { op, totalBytes, bytesByCategory } = memoryTimeline(trace);
  return Array.from(op, (index, i) =>
    [trace.opName(index), totalBytes[i], ...categories.map((name) => bytesByCategory.get(name)?.[i] ?? 0)].join(" "),
  );
}

function most(trace: Trace, category: CategoryName, device?: string): number {
  const { bytesByCategory } = memoryTimeline(trace, { at: "event", ...(device !== undefined && { device }) });
  return Math.max(0, ...(bytesByCategory.get(category) ?? []));
}

describe("a step of two blocks on four ranks", () => {
  it("gathers, reshards, prefetches and reduces, in this order", () => {
    // Weights: 2 × [10, 4] as shards of 3 × 4 elements (48 B), gathered 192 B; [5] as a shard of 2 (8 B), gathered 32 B.
    const { trace, groups } = simulateFsdp(blocksModel(), plan());
    expect(groups.map((g) => [g.fqn, g.parameters.map((p) => [p.shardBytes, p.gatheredBytes])])).toEqual([
      ["net", [[8, 32]]],
      ["net.blocks.0", [[48, 192]]],
      ["net.blocks.1", [[48, 192]]],
    ]);
    // Shards 104, slots 104, input 400; columns: total, all-gather, unsharded parameters, reduce-scatter, sharded gradients.
    expect(log(trace, "allGather", "unshardedParameter", "reduceScatter", "shardedGradient")).toEqual([
      "fsdp.all_gather_copy_in 640 0 0 0 0",
      "c10d._allgather_base_ 640 32 0 0 0",
      "aten.empty 672 32 0 0 0",
      "fsdp.split_with_sizes_copy 672 32 0 0 0",
      "fsdp.all_gather_copy_in 864 32 32 0 0",
      "c10d._allgather_base_ 864 224 32 0 0",
      "aten.empty 1056 224 32 0 0",
      "fsdp.split_with_sizes_copy 1056 224 32 0 0",
      // The root's buffer went when block 0 had copied out.
      "MatMul 1424 192 224 0 0",
      "fsdp.all_gather_copy_in 1424 192 32 0 0",
      "c10d._allgather_base_ 1424 384 32 0 0",
      "aten.empty 1616 384 32 0 0",
      "fsdp.split_with_sizes_copy 1616 384 32 0 0",
      "MatMul 1824 192 224 0 0",
      "Head 2032 192 32 0 0",
      // The backward pass reaches the root, which was not resharded, and prefetches block 1.
      "fsdp.all_gather_copy_in 2032 0 32 0 0",
      "c10d._allgather_base_ 2032 192 32 0 0",
      "HeadGrad 2432 192 32 0 0",
      "HeadWeightGrad 2452 192 32 0 0",
      "fsdp.split_with_sizes_copy 2644 192 224 0 0",
      "fsdp.all_gather_copy_in 2644 0 224 0 0",
      "c10d._allgather_base_ 2644 192 224 0 0",
      "MatMul 2804 192 224 0 0",
      "MatMul 3204 192 224 0 0",
      // Block 1 is resharded, its gradient of 160 B copied into 192 B, and reduced to 48 B.
      "fsdp.chunk_cat 2404 192 32 0 0",
      "aten.empty 2452 192 32 0 0",
      "c10d._reduce_scatter_base_ 2452 192 32 192 0",
      "fsdp.split_with_sizes_copy 2484 192 224 192 48",
      "MatMul 2452 0 224 192 48",
      // All is over: the root and block 0, whose input has no gradient.
      "fsdp.chunk_cat 1860 0 192 0 48",
      "aten.empty 1868 0 192 0 48",
      "c10d._reduce_scatter_base_ 1868 0 192 32 48",
      "fsdp.chunk_cat 1816 0 0 0 56",
      "aten.empty 1864 0 0 0 56",
      "c10d._reduce_scatter_base_ 1864 0 0 192 56",
      "Add 760 0 0 0 104",
      "Add 760 0 0 0 104",
      "Add 720 0 0 0 104",
    ]);
  });

  it("says what it is, and who made what", () => {
    const { trace, tracker } = simulateFsdp(blocksModel(), plan({ rank: 1 }));
    expect(trace.header.notes).toEqual([
      "Simulated from a run on one device: rank 1 of 4 under FSDP, 3 parameter groups (the root and blocks.*).",
    ]);
    const { at, largest } = tracker.peakMoment({ limit: 3 });
    expect(at).toMatchObject({ opName: "MatMul", phase: "backward", module: "net.blocks.1" });
    expect(largest.map(({ bytes, category, shape, maker }) => [bytes, category, shape, maker?.opName])).toEqual([
      [400, "input", [25, 4], undefined],
      [400, "activation", [25, 4], "MatMul"],
      [400, "activation", [25, 4], "MatMul"],
    ]);
  });

  it("keeps gathered parameters where it is told to", () => {
    const gatheredAtHead = (reshardAfterForward?: boolean): string => {
      const { trace } = simulateFsdp(
        blocksModel(),
        plan(reshardAfterForward === undefined ? {} : { reshardAfterForward }),
      );
      return log(trace, "unshardedParameter").find((line) => line.startsWith("Head ")) as string;
    };
    expect(gatheredAtHead()).toBe("Head 2032 32");
    expect(gatheredAtHead(true)).toBe("Head 2032 32");
    expect(gatheredAtHead(false)).toBe("Head 2416 416");
    // By default the root is not resharded. If requested, it is.
    const gathers = (more: Partial<ShardingPlan>): number =>
      log(simulateFsdp(blocksModel(), plan(more)).trace).filter((line) => line.startsWith("c10d._allgather")).length;
    expect([gathers({}), gathers({ reshardAfterForward: true }), gathers({ reshardAfterForward: false })]).toEqual([
      5, 6, 3,
    ]);
  });

  it("shards by rank: the last ranks hold less, or nothing, but with their padding", () => {
    const bytes = [0, 1, 2, 3].map((rank) => {
      const [{ bytesByCategory }] = simulateFsdp(blocksModel(), plan({ rank })).tracker.snapshot();
      return [bytesByCategory["shardedParameter"], bytesByCategory["optimizerState"]];
    });
    expect(bytes).toEqual([
      [104, 48 + 48 + 8],
      [104, 48 + 48 + 8],
      [104, 48 + 48 + 4],
      [104, 16 + 16 + 0],
    ]);
  });

  it("computes in the parameters' dtype and reduces in another", () => {
    const mixedPrecision = { param: "bfloat16", reduce: "float32" };
    const { trace } = simulateFsdp(blocksModel(), plan({ mixedPrecision }));
    expect([most(trace, "allGather"), most(trace, "unshardedParameter"), most(trace, "reduceScatter")]).toEqual([
      192, 112, 192,
    ]);
    // The copy of the input and three activations, half as large; 16 more while a shard is cast for the collective.
    expect(most(trace, "activation")).toBe(4 * 200);
    expect(most(trace, "shardedGradient")).toBe(104);
    const inBfloat16 = simulateFsdp(blocksModel(), plan({ mixedPrecision: { param: "bfloat16" } })).trace;
    expect(most(inBfloat16, "reduceScatter")).toBe(96);
    expect(most(inBfloat16, "shardedGradient")).toBe(104);
  });

  it("casts outputs up, and their gradients down again", () => {
    const heads = (more: object): string[] =>
      log(
        simulateFsdp(blocksModel(), plan({ mixedPrecision: { param: "bfloat16", ...more } })).trace,
        "activation",
        "temporary",
      ).filter((line) => /^(Head|aten._to_copy)/.test(line));
    const activation = (line: string): number => Number(line.split(" ")[2]);
    const plain = heads({});
    const cast = heads({ output: "float32" });
    // The input's copy; the head; the head's gradients.
    expect(plain.map((line) => line.split(" ")[0])).toEqual([
      "aten._to_copy",
      "Head",
      "HeadGrad",
      "HeadWeightGrad",
      ...Array(3).fill("aten._to_copy"),
    ]);
    expect(cast.map((line) => line.split(" ")[0])).toEqual([
      "aten._to_copy",
      "Head",
      "aten._to_copy",
      "aten._to_copy",
      "HeadGrad",
      "HeadWeightGrad",
      ...Array(3).fill("aten._to_copy"),
    ]);
    expect(activation(cast[2]) - activation(cast[1])).toBe(400);
    expect(heads({ explicitCasts: [{ after: "net", dtype: "float32" }] })).toEqual(cast);
  });

  it("offloads from a run on the CPU as from any other, to a device of its own", () => {
    const peaks = (device: string) =>
      simulateFsdp(blocksModel({ device }), plan({ cpuOffload: true }))
        .tracker.snapshot("peak")
        .map((snapshot) => [snapshot.device, snapshot.totalBytes, snapshot.bytesByCategory["shardedParameter"]]);
    expect(new Set(peaks("cpu").map(([device]) => device))).toEqual(new Set(["cpu", "host"]));
    const renamed: Readonly<Record<string, string>> = { cpu: "host", "gpu:0": "cpu" };
    expect(peaks("cpu")).toEqual(peaks("gpu:0").map(([device, ...bytes]) => [renamed[String(device)], ...bytes]));
  });

  it("keeps shards, their gradients and the optimizer's states on the CPU", () => {
    const { tracker } = simulateFsdp(blocksModel(), plan({ cpuOffload: true }));
    const held = tracker.snapshot("peak").map(({ device, bytesByCategory }) => [device, bytesByCategory]);
    expect(Object.fromEntries(held)).toMatchObject({
      "gpu:0": { shardedParameter: 0, shardedGradient: 0, optimizerState: 0, input: 400 },
      cpu: { shardedParameter: 104, shardedGradient: 104, optimizerState: 152, input: 0 },
    });
  });
});

describe("any trace", () => {
  it("gives the same where modules do not say what they own, and where gradients are known late", () => {
    const declared = simulateFsdp(blocksModel(), plan());
    const undeclared = simulateFsdp(blocksModel({ declared: false }), plan());
    expect(undeclared.groups.map((g) => [g.fqn, g.parameters.map((p) => p.shape)])).toEqual(
      declared.groups.map((g) => [g.fqn, g.parameters.map((p) => p.shape)]),
    );
    expect(log(undeclared.trace)).toEqual(log(declared.trace));
    expect(log(simulateFsdp(blocksModel({ lateGradients: true }), plan()).trace)).toEqual(log(declared.trace));
  });

  it("gathers in the backward pass where modules' backward passes are not told", () => {
    const { trace, tracker } = simulateFsdp(blocksModel({ backwardEvents: false }), plan());
    const lines = log(trace, "unshardedParameter", "shardedGradient");
    const backward = lines.slice(lines.findIndex((line) => line.startsWith("HeadWeightGrad")));
    expect(backward.filter((line) => line.startsWith("MatMul")).map((line) => line.split(" ")[2])).toEqual([
      "224",
      "224",
      "416",
    ]);
    expect(lines.at(-1)).toBe("Add 720 0 104");
    expect(tracker.peakBytes()).toBeGreaterThan(0);
  });

  it("follows parameters into the storages that updates put in their place", () => {
    const { trace, tracker } = simulateFsdp(blocksModel({ replaces: true, steps: 3 }), plan());
    expect(tracker.snapshot()).toEqual(simulateFsdp(blocksModel({ replaces: true }), plan()).tracker.snapshot());
    const lines = log(trace, "allGather", "shardedGradient", "activation");
    const starts = lines.flatMap((line, i) =>
      line.startsWith("fsdp.all_gather_copy_in") && line.endsWith(" 0 0 32") ? [i] : [],
    );
    expect(starts).toHaveLength(3);
    // From the second step on gathered parameters are resized, not made.
    const steps = starts.map((start, i) =>
      lines.slice(start, starts[i + 1]).filter((line) => /^(MatMul|Head|Add|Sub)/.test(line)),
    );
    expect(steps[1]).toEqual(steps[0]);
    expect(steps[2]).toEqual(steps[1]);
  });

  it("leaves nothing behind, and holds the sum of its categories, under any plan", () => {
    const plans = fc.record({
      worldSize: fc.integer({ min: 1, max: 13 }),
      wrap: fc.constantFrom([], ["blocks.*"], ["blocks.0"], ["**"]),
      reshard: fc.constantFrom(undefined, true, false),
      param: fc.constantFrom(undefined, "bfloat16", "float64"),
      reduce: fc.constantFrom(undefined, "float32"),
      output: fc.constantFrom(undefined, "float32"),
      cpuOffload: fc.boolean(),
    });
    const models = fc.record({
      blocks: fc.integer({ min: 1, max: 4 }),
      steps: fc.integer({ min: 1, max: 3 }),
      rows: fc.integer({ min: 1, max: 20 }),
      declared: fc.boolean(),
      backwardEvents: fc.boolean(),
      replaces: fc.boolean(),
      allocationUnitBytes: fc.constantFrom(1, 512),
    });
    fc.assert(
      fc.property(plans, models, ({ worldSize, wrap, reshard, param, reduce, output, cpuOffload }, model) => {
        const { tracker, trace } = simulateFsdp(blocksModel(model), {
          worldSize,
          wrap,
          cpuOffload,
          ...(reshard !== undefined && { reshardAfterForward: reshard }),
          mixedPrecision: {
            ...(param !== undefined && { param }),
            ...(reduce !== undefined && { reduce }),
            ...(output !== undefined && { output }),
          },
        });
        for (const { totalBytes, bytesByCategory } of [...tracker.snapshot(), ...tracker.snapshot("peak")])
          expect(totalBytes).toBe(Object.values(bytesByCategory).reduce((a, b) => a + b, 0));
        const passing = ["unshardedParameter", "shardedGradient", "unshardedGradient", "allGather", "reduceScatter"];
        for (const { bytesByCategory } of tracker.snapshot())
          for (const name of [...passing, "temporary"]) expect([name, bytesByCategory[name]]).toEqual([name, 0]);
        expect(
          new MemTracker({ secondIteration: "reset" })
            .update(trace)
            .snapshot()
            .map((s) => s.totalBytes),
        ).toEqual(tracker.snapshot().map((s) => s.totalBytes));
      }),
      { numRuns: 200 },
    );
  });

  it("with one rank holds the unsharded run and FSDP's buffers: gathered copies, and the input of a reduction", () => {
    const models = fc.record({ blocks: fc.integer({ min: 1, max: 4 }), rows: fc.integer({ min: 1, max: 20 }) });
    fc.assert(
      fc.property(models, (model) => {
        const source = blocksModel(model);
        const { trace, groups } = simulateFsdp(source, { worldSize: 1, wrap: ["blocks.*"] });
        const own = memoryTimeline(source);
        const one = memoryTimeline(trace);
        expect(most(trace, "allGather") + most(trace, "reduceScatter")).toBe(0);
        const points = Array.from(one.op, (_, i) => i).filter((i) => !/^(fsdp|aten)\./.test(trace.opName(one.op[i])));
        expect(points).toHaveLength(own.count);
        const largest = Math.max(...groups.map((g) => g.parameters.reduce((sum, p) => sum + p.gatheredBytes, 0)));
        points.forEach((i, k) => {
          const gathered = one.bytesByCategory.get("unshardedParameter")?.[i] ?? 0;
          const more = one.totalBytes[i] - own.totalBytes[k] - gathered;
          if (source.ops.phase[k] !== Phase.backward) expect(more).toBe(0);
          expect(more).toBeGreaterThanOrEqual(0);
          expect(more).toBeLessThanOrEqual(largest);
        });
      }),
      { numRuns: 50 },
    );
  });
});

describe("lower precision in tfjs, which computes in float32 only", () => {
  it("is that of all that is computed in the model and of its gradients, whatever masks, constants and buffers are", () => {
    const b = new TraceBuilder({ framework: "tfjs", device: "gpu", mode: "fake", allocationUnitBytes: 1 });
    const make = (category: number, shape: readonly number[] = [10, 10]): number => {
      const storage = b.allocate(4 * shape.reduce((n, size) => n * size, 1), "gpu", category);
      return b.tensor({ storage, dtype: "float32", shape });
    };
    const run = (name: string, inputs: number[], more: Partial<OpRecord> = {}): number => {
      const output = make(more.phase === Phase.backward ? Category.temporary : Category.activation);
      op = b.op({ name, inputs, outputs: [output], ...more });
      return output;
    };
    let op = -1;
    const net = b.module({ fqn: "net", kind: "Net", leaf: true });
    const weight = make(Category.parameter);
    const bias = make(Category.buffer);
    b.moduleWeights(net, [weight], [bias]);
    const [x, target] = [make(Category.input), make(Category.input)];
    const call = b.call(net, -1, true);
    const stack = b.stackOfCall(call);
    b.enterModule(call, Phase.forward, [x]);
    const h = run("BatchMatMul", [x, weight], { stack });
    const matMul = op;
    const dropped = run("Multiply", [h, make(Category.other)], { stack });
    const multiply = op;
    const y = run("Add", [dropped, bias], { stack });
    b.exitModule(call, Phase.forward, [y]);
    // The loss is not the model's: there a wider target widens.
    const difference = run("Sub", [y, target]);
    const sub = op;
    b.enterModule(call, Phase.backward);
    const dy = run("Multiply", [make(Category.temporary), difference], { phase: Phase.backward, forwardOp: sub });
    const dh = run("Multiply", [dy, make(Category.temporary)], { phase: Phase.backward, stack, forwardOp: multiply });
    run("BatchMatMul", [x, dh], { phase: Phase.backward, stack, forwardOp: matMul });
    b.categorize(b.storageCount - 1, Category.gradient);
    b.exitModule(call, Phase.backward);
    b.free(0);
    const mixedPrecision = { param: "bfloat16", reduce: "float32" };
    const rank = simulateFsdp(b.build(), plan({ wrap: [], mixedPrecision })).trace;
    const bytes = (tensors: Int32Array) =>
      Array.from(tensors, (tensor) => rank.storages.bytes[rank.tensors.storage[tensor]]).join();
    const results = Array.from(
      rank.ops.name,
      (_, i) => `${rank.opName(i)} ${bytes(rank.opInputs(i))} = ${bytes(rank.opOutputs(i))}`,
    ).filter((line) => !/^(aten|fsdp|c10d)/.test(line));
    // The weight is gathered with its padding.
    expect(results).toEqual([
      "BatchMatMul 200,240 = 200",
      "Multiply 200,200 = 200",
      "Add 200,400 = 200",
      "Sub 200,400 = 400",
      "Multiply 400,400 = 400",
      "Multiply 400,200 = 200",
      "BatchMatMul 200,200 = 200",
    ]);
  });
});

describe("bad input", () => {
  const refuses = (trace: Trace, bad: ShardingPlan, code: string, message: string): void =>
    expect(() => simulateFsdp(trace, bad)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    );

  it("refuses a plan that does not fit the model, and says what would", () => {
    const trace = blocksModel();
    refuses(
      trace,
      plan({ wrap: ["layers.*"] }),
      "SHARDING_PLAN",
      'no module is named "layers.*": expected the name or a pattern of one of net, net.blocks.0, net.blocks.1.',
    );
    refuses(trace, plan({ wrap: ["blocks"] }), "SHARDING_PLAN", 'no module is named "blocks"');
    const { trace: sharded } = simulateFsdp(trace, plan({}));
    refuses(sharded, plan({}), "TRACE_SHARDED", "was already sharded by FSDP when it was recorded");
    refuses(trace, plan({ worldSize: 0 }), "SHARDING_PLAN", "the world size is 0");
    refuses(trace, plan({ worldSize: 2.5 }), "SHARDING_PLAN", "the world size is 2.5");
    refuses(trace, plan({ rank: 4 }), "SHARDING_PLAN", "expected a rank from 0 to 3, found 4");
    refuses(trace, plan({ mixedPrecision: { param: "int8" } }), "SHARDING_PLAN", 'found "int8"');
    refuses(
      trace,
      plan({ mixedPrecision: { explicitCasts: [{ after: "tail", dtype: "float32" }] } }),
      "SHARDING_PLAN",
      '"tail"',
    );
  });

  it("refuses a trace that cannot tell", () => {
    const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
    b.free(b.allocate(4));
    refuses(b.build(), plan(), "TRACE_NO_BACKWARD", "the trace has 0 ops but no backward pass");
    b.op({ name: "Relu", phase: 1 });
    refuses(b.build(), plan(), "SHARDING_PLAN", "the trace contains no modules");
    b.call(b.module({ fqn: "m", kind: "M", leaf: true }), -1, false);
    refuses(b.build(), { worldSize: 2, wrap: [] }, "TRACE_NO_PARAMETERS", "no parameters to shard");
  });

  it("refuses two groups that share a parameter", () => {
    const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
    const [net, one, two] = ["net", "net.a", "net.b"].map((fqn) => b.module({ fqn, kind: "M", leaf: false }));
    const shared = b.tensor({ storage: b.allocate(16), dtype: "float32", shape: [4] });
    for (const module of [net, one, two]) b.moduleWeights(module, [shared]);
    b.free(b.allocate(4));
    b.op({ name: "Relu", phase: 1, stack: b.stackOfCall(b.call(net, -1, true)) });
    refuses(b.build(), plan({ wrap: ["a", "b"] }), "SHARDING_PLAN", "net.a and net.b share a parameter of shape [4]");
    refuses(
      b.build(),
      plan({ wrap: ["a"] }),
      "SHARDING_PLAN",
      "a and b share a parameter of shape [4], so PyTorch cannot shard",
    );
    // As one they do not.
    const { groups } = simulateFsdp(b.build(), plan({ wrap: [], groups: [{ modules: ["a", "b"], together: true }] }));
    expect(groups.map((g) => g.fqn)).toEqual(["net.a"]);
  });

  it("simulates a trace that breaks off up to there", () => {
    const whole = blocksModel();
    const cut = Object.assign(Object.create(Object.getPrototypeOf(whole) as object), whole, {
      truncated: { line: 40, reason: "the last line breaks off" },
      events: { ...whole.events, count: 30 },
    }) as Trace;
    const { trace, tracker } = simulateFsdp(cut, plan());
    expect(trace.truncated).toEqual(cut.truncated);
    expect(tracker.peakBytes()).toBeGreaterThan(1000);
  });
});
