import { expect, it } from "vitest";
import { targetAt } from "../../src/text/drawn.js";
import { resnet50 } from "../traces.js";
import { appOf, screenOf, screenText, tableOf } from "./make-app.js";

const resnet = await resnet50();
const size = { columns: 160, rows: 30 };

/** Clicks on the header of each column of a view, twice: what the screen and an export of it then show. */
function* afterClicks(view: string) {
  const before = appOf(resnet, { view, size });
  const columns = screenOf(before.app).regions.flatMap(({ target }) =>
    target.kind === "header" ? [target.column] : [],
  );
  for (const column of columns) {
    const { app } = appOf(resnet, { view, size });
    for (let i = 0; i < 2; i++) {
      const { x, y } = screenOf(app).regions.find(
        ({ target }) => target.kind === "header" && target.column === column,
      )!;
      app.handle({ kind: "press", x, y }, targetAt(screenOf(app).regions, x, y));
      yield { column, mark: /[▲▼]/.exec(screenText(app)[y])?.[0], table: tableOf(app) };
    }
  }
}

it("sort marks of ops are right: rows are in the order of the marked column, or in execution order without a mark", () => {
  const marked = new Set<string>();
  for (const { column, mark, table } of afterClicks("ops")) {
    const values = table.rows.map((row) => row[table.columns.indexOf(mark === undefined ? "op" : column)] ?? 0);
    if (mark !== undefined) marked.add(column);
    const isNumeric = values.every((value) => typeof value === "number" || Number.isNaN(value));
    if (!isNumeric) continue;
    const numbers = values.map(Number).filter((value) => !Number.isNaN(value));
    const sorted = [...numbers].sort((a, b) => (mark === "▼" ? b - a : a - b));
    expect([column, numbers]).toEqual([column, sorted]);
  }
  expect([...marked]).toEqual(expect.arrayContaining(["runtimeMs", "memoryBytes"]));
});

it("sort marks of modules are right: the share of memory, which is not a sort column, keeps execution order without a mark", () => {
  const inOrder = tableOf(appOf(resnet, { view: "modules", size }).app).rows;
  const marked = new Set<string>();
  for (const { column, mark, table } of afterClicks("modules")) {
    if (mark === undefined) expect([column, table.rows]).toEqual([column, inOrder]);
    else marked.add(column);
    if (column === "share") expect(mark).toBeUndefined();
  }
  expect([...marked]).toEqual(expect.arrayContaining(["name", "memoryBytes", "runtimeMs", "savedBytes"]));
});
