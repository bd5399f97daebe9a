import { peakMoment } from "@remat/memory";
import { describe, expect, it } from "vitest";
import { transformer } from "../traces.js";
import { appOf, own, screenText, tableOf } from "./make-app.js";

const trace = await transformer();

describe("the memory view", () => {
  it("is the first view, and says how much at the peak, and what of it is free to gain", () => {
    const { app } = appOf(trace);
    expect(app.state.view).toBe("held");
    const [title, free] = screenText(app).slice(2);
    expect(title).toMatch(/^Transformer {2}[\d.]+ \w+ at the peak in \d+ storages/);
    expect(free).toMatch(/^Savings with no slowdown: |^Almost no tensor|% of the peak is not used by any later op/);
  });

  it.each([60, 80, 120])("names the keys that plan the step, %i columns wide", (columns) => {
    const { app } = appOf(trace, { size: { columns, rows: 24 } });
    expect(screenText(app).at(-1)).toContain("7 p plan");
    expect(app.views[6].keys.find(({ keys }) => keys.includes("p"))?.action).toBe("plan");
  });

  it("opens and closes by keys, level by level, down to every storage", () => {
    const { app, press } = appOf(trace, { size: { columns: 120, rows: 3000 } });
    const rows = (): string[] =>
      screenText(app)
        .slice(3, -2)
        .filter((line) => /\d\.\d%/.test(line));
    press("-");
    const categories = Object.keys(peakMoment(trace).bytesByCategory).length;
    expect(rows()).toHaveLength(categories);
    press("right");
    const opened = rows().length;
    expect(opened).toBeGreaterThan(categories);
    press("left");
    expect(rows()).toHaveLength(categories);
    press("enter", "enter");
    expect(rows()).toHaveLength(categories);
    press("*");
    expect(rows().length).toBeGreaterThan(peakMoment(trace).storageCount);
  });

  it("leads from a storage to the very op that made it, and Esc back to where it was", () => {
    const { app, press } = appOf(trace);
    press("*");
    const { rows } = tableOf(app);
    const made = rows.findIndex((cells) => cells[4] !== undefined);
    const op = Number(rows[made][4]);
    press("/", ...`op ${op}`, "enter");
    const before = own(app).held;
    press("enter");
    expect(app.state.view).toBe("ops");
    expect(screenText(app).join("\n")).toContain(`── op ${op} ${trace.opName(op)}`);
    press("esc");
    expect([app.state.view, own(app).held]).toEqual(["held", before]);
  });

  it("is of the op at the memory view's cursor, too, and p goes to the peak", () => {
    const { app, press } = appOf(trace, { view: "memory" });
    press("home", ">", ">", "a");
    const { op } = own(app).memory;
    expect([app.state.view, own(app).held.op]).toEqual(["held", op]);
    expect(screenText(app)[2]).toContain(`after op ${op} ${trace.opName(op)}`);
    const held = tableOf(app).rows.reduce((sum, cells) => sum + Number(cells[1]), 0);
    expect(held).toBe(app.document.timeline().totalBytes[op]);
    press("p");
    expect(screenText(app)[2]).toContain("at the peak");
    expect(tableOf(app).rows.reduce((sum, cells) => sum + Number(cells[1]), 0)).toBe(
      Math.max(...app.document.timeline().highestBytes),
    );
    press("esc");
    expect([app.state.view, own(app).memory.op]).toEqual(["memory", op]);
  });

  it("is searched among all of its rows, opened or not", () => {
    const { app, press } = appOf(trace);
    press("-", "/", ..."attention", "enter");
    const line = screenText(app).find((text) => text.includes("attention"));
    expect(line).toBeDefined();
    expect(own(app).held.open?.size).toBeGreaterThan(0);
  });
});
