import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { greedyOrder, opsTogether, sacStats } from "@remat/sac-core";
import { goldenFiles, readGolden } from "@remat/testkit";
import { OpFlag, Phase } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  allOpsView,
  moduleOf,
  OpMark,
  type OpTableColumn,
  opMarkNames,
  opTable,
  opTableRows,
  opTableView,
  writeViewTable,
} from "../src/index.js";

const golden = goldenFiles().find(({ name }) => name === "sac_02_transformer")!;
const trace = priceTrace(readPyTorchTrace(readGolden(golden)), deviceSpec("a100"));
const all = sacStats(trace);
const [fqn, stats] = [...all].toSorted((a, b) => b[1].ops.length - a[1].ops.length)[0];
const order = greedyOrder(stats);
const view = opTableView(trace, { title: fqn, stats, order });

describe("ops of a module", () => {
  it("are marked as the statistics and the greedy order say", () => {
    const marked = (bit: number): number[] =>
      Array.from(view.marks.keys()).filter((row) => (view.marks[row] & bit) !== 0);
    expect(marked(OpMark.view)).toEqual([...stats.viewLikeOps]);
    expect(marked(OpMark.random)).toEqual([...stats.randOps]);
    expect(marked(OpMark.inPlace)).toEqual([...stats.inplaceOps]);
    expect(marked(OpMark.savedByAutograd)).toEqual([...stats.savedAutogradOps]);
    expect(marked(OpMark.alwaysRecomputed)).toEqual([...order.recomputedOps]);
    expect(marked(OpMark.alwaysStored)).toEqual(
      [...new Set([...order.storedOps].flatMap((head) => [...opsTogether(order, head)]))].sort((a, b) => a - b),
    );
    order.mspsMeta.opIdx.forEach((op, place) => {
      expect(view.msps[op]).toBe(order.mspsMeta.msps[place]);
      expect(view.greedyPlace[op]).toBe(place);
    });
    stats.inplaceOps.forEach((op, i) => {
      expect(view.inPlaceParent[op]).toBe(stats.ops[stats.inplaceParents[i]]);
    });
    expect(view.op).toEqual(stats.ops);
  });

  it("are narrowed to those of a leaf", () => {
    const leaf = trace.modules.find(({ fqn: name, leaf: isLeaf }) => isLeaf && name.startsWith(`${fqn}.`))!;
    const part = opTableView(trace, { title: leaf.fqn, stats, order, within: leaf.fqn });
    expect(part.count).toBeGreaterThan(0);
    expect(part.count).toBeLessThan(view.count);
    for (let row = 0; row < part.count; row++) {
      expect(moduleOf(part, row)).toBe(leaf.fqn);
      const whole = view.op.indexOf(part.op[row]);
      expect([part.memoryBytes[row], part.runtimeMs[row], part.marks[row]]).toEqual([
        view.memoryBytes[whole],
        view.runtimeMs[whole],
        view.marks[whole],
      ]);
    }
  });

  it("are sorted by any column and filtered, as a plain sort and filter would", () => {
    const columns: OpTableColumn[] = ["op", "name", "runtimeMs", "memoryBytes", "msps", "marks", "module"];
    const key = (column: OpTableColumn, row: number): number | string =>
      column === "name" ? view.names[row] : column === "module" ? moduleOf(view, row) : view[column][row];
    fc.assert(
      fc.property(
        fc.constantFrom(...columns),
        fc.boolean(),
        fc.constantFrom("", "mm", "ADD", "layers.0", "nothing has this"),
        (column, descending, filter) => {
          const rows = [...opTableRows(view, { sort: { column, descending }, filter })];
          const wanted = Array.from(view.names.keys()).filter((row) =>
            [view.names[row], moduleOf(view, row)].some((text) => text.toLowerCase().includes(filter.toLowerCase())),
          );
          expect(rows.toSorted((a, b) => a - b)).toEqual(wanted);
          const present = rows.filter((row) => !Number.isNaN(key(column, row)));
          expect(rows.slice(0, present.length)).toEqual(present);
          for (let i = 1; i < present.length; i++) {
            const [a, b] = [key(column, present[i - 1]), key(column, present[i])];
            expect(a === b ? present[i - 1] < present[i] : a > b === descending).toBe(true);
          }
        },
      ),
    );
  });

  it("are exported in the order in which they are shown", () => {
    const rows = opTableRows(view, { sort: { column: "memoryBytes", descending: true }, filter: "mm" }).subarray(0, 3);
    const { rows: lines } = JSON.parse(writeViewTable(opTable(view, rows), "json")) as {
      rows: { op: number; memoryBytes: number; bytesPerMs: number | null; marks: string }[];
    };
    expect(lines.map(({ op }) => op)).toEqual([...rows].map((row) => view.op[row]));
    expect(lines[0].marks).toBe(opMarkNames(view.marks[rows[0]]).join(" "));
    expect(opTable(view).rows).toHaveLength(view.count);
  });
});

describe("all ops of a trace", () => {
  const whole = allOpsView(trace, "step");

  it("are every op, with what each has made", () => {
    expect(whole.count).toBe(trace.ops.count);
    const made = new Set<number>();
    for (let op = 0; op < whole.count; op++) {
      for (const tensor of trace.opInputs(op)) for (const storage of trace.tensorStorages(tensor)) made.add(storage);
      const fresh = new Set(
        [...trace.opOutputs(op)]
          .flatMap((tensor) => trace.tensorStorages(tensor))
          .filter((storage) => !made.has(storage)),
      );
      for (const storage of fresh) made.add(storage);
      expect(whole.memoryBytes[op]).toBe(
        [...fresh].reduce((bytes, storage) => bytes + Math.ceil(trace.storages.bytes[storage] / 512) * 512, 0),
      );
      expect((whole.marks[op] & OpMark.view) !== 0).toBe((trace.ops.flags[op] & OpFlag.view) !== 0);
    }
    expect(opTableRows(whole)).toHaveLength(trace.ops.count);
    expect([...whole.phase].includes(Phase.forward)).toBe(true);
  });
});
