import { Phase, RematError, RuntimeSource, type Trace, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deviceSpec, moduleRuntimes, modulewiseText, priceTrace, RuntimeEstimator } from "../src/index.js";
import { totalText } from "../src/modulewise-text.js";
import { randomTrace } from "./random-trace.js";

/** Net with a child that is called twice, forward and backward, and an optimizer; times are powers of two, so that sums tell them apart. */
function handWritten(runtimeSource: number): Trace {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "real", allocationUnitBytes: 1 });
  const net = b.module({ fqn: "Net", kind: "Model", leaf: false });
  const child = b.module({ fqn: "Net.block.dense", kind: "Dense", leaf: true });
  const outer = b.call(net, -1, true);
  let ms = 1;
  const op = (call: number, phase: number) => {
    b.op({ name: "Relu", phase, stack: b.stackOfCall(call), runtimeMs: ms, runtimeSource });
    ms *= 2;
  };
  b.enterModule(outer);
  op(outer, Phase.forward);
  const calls = [0, 1].map(() => {
    const call = b.call(child, outer, true);
    b.enterModule(call);
    op(call, Phase.forward);
    b.exitModule(call);
    return call;
  });
  b.exitModule(outer);
  op(-1, Phase.forward);
  b.enterModule(outer, Phase.backward);
  for (const call of calls.reverse()) {
    b.enterModule(call, Phase.recompute);
    op(call, Phase.recompute);
    b.exitModule(call, Phase.recompute);
    b.enterModule(call, Phase.backward);
    op(call, Phase.backward);
    b.exitModule(call, Phase.backward);
  }
  b.exitModule(outer, Phase.backward);
  op(-1, Phase.optimizer);
  op(-1, Phase.outside);
  return b.build();
}

const text = `Pre-Forward Execution Order: ${""}
Net
Net.block.dense
Net.block.dense
Net.block.dense
Net.block.dense
Pre-Backward Execution Order: ${""}
Net
Net.block.dense
Net.block.dense
Global fw: 271.000ms bw: 240.000ms
Net fw: 7.000ms bw: 240.000ms
Net.block.dense fw: 6.000ms bw: 240.000ms
`;

describe("RuntimeEstimator", () => {
  test("gives runtimes by module and phase, and execution orders", () => {
    const estimator = new RuntimeEstimator()
      .mode("operator-level-benchmark")
      .estimate(handWritten(RuntimeSource.measured));
    expect({
      total: estimator.totalRuntimeMs,
      modules: Object.fromEntries(estimator.modRuntimes),
      forward: [estimator.modFwPreOrder, estimator.modFwPostOrder],
      backward: [estimator.modBwPreOrder, estimator.modBwPostOrder],
    }).toEqual({
      total: 511,
      modules: {
        Global: { forwardMs: 1 + 2 + 4 + 8 + 256, backwardMs: 16 + 32 + 64 + 128 },
        Net: { forwardMs: 7, backwardMs: 240 },
        "Net.block.dense": { forwardMs: 6, backwardMs: 240 },
      },
      forward: [
        ["Net", "Net.block.dense", "Net.block.dense", "Net.block.dense", "Net.block.dense"],
        ["Net.block.dense", "Net.block.dense", "Net", "Net.block.dense", "Net.block.dense"],
      ],
      backward: [
        ["Net", "Net.block.dense", "Net.block.dense"],
        ["Net.block.dense", "Net.block.dense", "Net"],
      ],
    });
    expect(estimator.displayModulewiseStats({ depth: 3 })).toBe(text);
    const shallow = text.split("\n").filter((line) => !line.startsWith("Net.block"));
    expect(estimator.displayModulewiseStats()).toBe(shallow.join("\n"));
    expect(estimator.displayTotal()).toBe("Estimated (operator-level-benchmark)total_time: 511.000 ms\n");
  });

  test("prices for a device, and starts anew with each trace", () => {
    const estimator = new RuntimeEstimator().mode("operator-level-cost-model", { device: deviceSpec("cpu") });
    fc.assert(
      fc.property(randomTrace, (trace) => {
        const expected = moduleRuntimes(priceTrace(trace, deviceSpec("cpu")));
        estimator.estimate(trace);
        expect(estimator.totalRuntimeMs).toBe(expected.totalRuntimeMs);
        expect(estimator.modRuntimes).toEqual(expected.modRuntimes);
        expect(estimator.trace?.ops.runtimeSource.every((source) => source === RuntimeSource.roofline)).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  test("without a device takes the runtimes that the trace has", () => {
    const estimator = new RuntimeEstimator().estimate(handWritten(RuntimeSource.imported));
    expect(estimator.totalRuntimeMs).toBe(511);
  });

  test("refuses a mode that there is not, naming both that there are", () => {
    expect(() => new RuntimeEstimator().mode("operator-level-guess")).toThrow(
      new RematError(
        "ESTIMATE_MODE",
        "estimate mode 'operator-level-guess' is not supported. Use 'operator-level-cost-model' (roofline, any device) or 'operator-level-benchmark' (runs every op on this machine).",
      ),
    );
  });

  test("refuses a trace that has not been through the benchmark, or has no runtimes at all", () => {
    const trace = handWritten(RuntimeSource.none);
    expect(() => new RuntimeEstimator().mode("operator-level-benchmark").estimate(trace)).toThrow(
      /none of the trace's 10 ops has a measured runtime.*benchmarkTrace/,
    );
    expect(() => new RuntimeEstimator().estimate(trace)).toThrow(
      /none of the trace's 10 ops has a runtime. Choose a device/,
    );
  });
});

test("a module's runtime is the sum over its ops, and Global's over all that are not outside", () => {
  fc.assert(
    fc.property(randomTrace, (trace) => {
      const priced = priceTrace(trace, deviceSpec("t4"));
      const { modRuntimes, totalRuntimeMs } = moduleRuntimes(priced);
      const counted = Array.from({ length: trace.ops.count }, (_, op) => op).filter(
        (op) => trace.ops.phase[op] !== Phase.outside,
      );
      const sum = (ops: readonly number[]) => ops.reduce((total, op) => total + priced.ops.runtimeMs[op], 0);
      const inModule = (fqn: string) =>
        counted.filter((op) =>
          [...trace.opCalls(op)].some((call) => trace.modules[trace.calls.module[call]].fqn === fqn),
        );
      expect(totalRuntimeMs).toBe(sum(counted));
      const modules = new Set(
        counted.flatMap((op) => [...trace.opCalls(op)].map((call) => trace.modules[trace.calls.module[call]].fqn)),
      );
      expect(new Set(modRuntimes.keys())).toEqual(new Set(counted.length > 0 ? ["Global", ...modules] : []));
      for (const [fqn, { forwardMs, backwardMs }] of modRuntimes) {
        const backward = (op: number) =>
          trace.ops.phase[op] === Phase.backward || trace.ops.phase[op] === Phase.recompute;
        const ops = fqn === "Global" ? counted : inModule(fqn);
        expect(backwardMs).toBe(sum(ops.filter(backward)));
        expect(forwardMs).toBe(sum(ops.filter((op) => !backward(op))));
      }
    }),
  );
});

test("milliseconds are printed as Python prints them", () => {
  // Ties go to the even digit; 1.0005 is no tie in binary.
  const cases = {
    0.0625: "0.062",
    0.1875: "0.188",
    2.0625: "2.062",
    1.0005: "1.000",
    0.0004: "0.000",
    1234.5: "1234.500",
  };
  for (const [ms, printed] of Object.entries(cases))
    expect(totalText("m", Number(ms))).toBe(`Estimated (m)total_time: ${printed} ms\n`);
});

test("rows deeper than the depth are left out", () => {
  const modRuntimes = new Map([["a.b.c", { forwardMs: 1, backwardMs: 2 }]]);
  const stats = { modRuntimes, modFwPreOrder: ["a.b.c"], modBwPreOrder: [] };
  expect(modulewiseText(stats, { depth: 2 })).toBe("Pre-Forward Execution Order: \nPre-Backward Execution Order: \n");
  expect(modulewiseText(stats, { depth: 3 })).toContain("a.b.c fw: 1.000ms bw: 2.000ms\n");
});
