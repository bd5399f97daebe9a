import { allOpsView, opStartMs } from "@remat/reporting";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { OpQuery, Overview } from "../page/engine/answers.js";
import { pageOps } from "../page/engine/page-ops.js";
import { queryOps, searchOps } from "../page/engine/query-ops.js";
import { goldenTrace } from "./traces.js";

const trace = goldenTrace("mem_03_mlp_adam");
const view = allOpsView(trace, "");
const overview = {
  names: trace.strings,
  modules: view.modules,
  ops: { ...view, name: trace.ops.name, startMs: opStartMs(view.runtimeMs) },
} as unknown as Overview;
const all = Array.from({ length: trace.ops.count }, (_, op) => op);
const moduleOf = (op: number): string => (view.module[op] < 0 ? "" : view.modules[view.module[op]]);
const fate = Uint8Array.from(all, (op) => [0, 1, 255][op % 3]);

describe("a query", () => {
  const queries: fc.Arbitrary<OpQuery> = fc.record({
    module: fc.constantFrom("", ...view.modules),
    text: fc.constantFrom("", "ADDMM", "mul", "nothing", trace.modules[1].fqn.slice(0, 4)),
    marks: fc.constantFrom(0, 1, 4, 8, 9),
    phase: fc.integer({ min: -1, max: 3 }),
    fate: fc.constantFrom(-1, 0, 1),
    sort: fc.constantFrom("op", "name", "module", "phase", "memoryBytes", "runtimeMs", "fate"),
    isDescending: fc.boolean(),
  });

  it("finds what a plain filter finds, in an order that a plain sort agrees with", () => {
    fc.assert(
      fc.property(queries, (query) => {
        const { rows, memoryBytes, runtimeMs } = queryOps(overview, query, fate, undefined);
        const text = query.text.toLowerCase();
        const expected = all.filter(
          (op) =>
            (query.module === "" || moduleOf(op) === query.module || moduleOf(op).startsWith(`${query.module}.`)) &&
            (view.marks[op] & query.marks) === query.marks &&
            (query.phase < 0 || view.phase[op] === query.phase) &&
            (query.fate < 0 || fate[op] === query.fate) &&
            (trace.opName(op).toLowerCase().includes(text) || moduleOf(op).toLowerCase().includes(text)),
        );
        expect([...rows].sort((a, b) => a - b)).toEqual(expected);
        expect(memoryBytes).toBe(expected.reduce((sum, op) => sum + view.memoryBytes[op], 0));
        expect(runtimeMs).toBeCloseTo(
          expected.reduce((sum, op) => sum + view.runtimeMs[op], 0),
          9,
        );
        const key = (op: number): number | string => {
          if (query.sort === "op") return op;
          if (query.sort === "name") return trace.opName(op);
          if (query.sort === "module") return moduleOf(op);
          return query.sort === "fate" ? fate[op] : view[query.sort as "phase" | "memoryBytes" | "runtimeMs"][op];
        };
        const isMissing = (op: number): boolean =>
          (query.sort === "fate" && fate[op] === 255) || (query.sort === "module" && view.module[op] < 0);
        for (let i = 1; i < rows.length; i++) {
          const [a, b] = query.isDescending ? [rows[i], rows[i - 1]] : [rows[i - 1], rows[i]];
          if (isMissing(rows[i])) continue;
          expect(isMissing(rows[i - 1])).toBe(false);
          expect(key(a) <= key(b), `${a} before ${b} by ${query.sort}`).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });
});

it.each(["mem_03_mlp_adam", "fsdp_tf_ws4_reshard1", "sac_02_transformer", "mem_05_reuse_adam"])(
  "the page's columns of %s are those of the view that others show",
  (name) => {
    const run = goldenTrace(name);
    const expected = allOpsView(run, "");
    const { marks, memoryBytes, module, phase, runtimeMs, count } = pageOps(run);
    expect({ marks, memoryBytes, module, phase, runtimeMs, count }).toEqual({
      marks: expected.marks,
      memoryBytes: expected.memoryBytes,
      module: expected.module,
      phase: expected.phase,
      runtimeMs: expected.runtimeMs,
      count: expected.count,
    });
  },
);

describe("a search", () => {
  it("finds modules and ops, upper and lower case alike, and an op by its number", () => {
    const { modules, ops } = searchOps(overview, "ADDMM ");
    expect(modules).toEqual([]);
    expect([...ops]).toEqual(all.filter((op) => trace.opName(op).includes("addmm")));
    expect(searchOps(overview, trace.modules[1].fqn).modules).toContain(trace.modules[1].fqn);
    expect([...searchOps(overview, "#17").ops]).toEqual([17]);
    expect(searchOps(overview, " ")).toEqual({ modules: [], ops: new Int32Array(0) });
  });
});
