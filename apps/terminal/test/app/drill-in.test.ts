import { describe, expect, it } from "vitest";
import { views } from "../../src/views/views.js";
import { transformer } from "../traces.js";
import { appOf, own, screenText } from "./make-app.js";

const trace = await transformer();

describe("Enter in the memory view", () => {
  it("opens the very op at the cursor, whatever its phase and module, and Esc comes back to it", () => {
    const { app, press } = appOf(trace, { view: "memory" });
    press("home");
    for (let tried = 0; tried < 40; tried++) {
      const { op } = own(app).memory;
      const { module } = app.state;
      press("enter");
      expect(app.state.view).toBe("ops");
      expect(app.state.module).toBe(trace.opModule(op)?.fqn ?? module);
      const screen = screenText(app);
      expect(
        screen.some((line) => line.includes(`── op ${op} ${trace.opName(op)}`)),
        `op ${op}`,
      ).toBe(true);
      press("esc");
      expect([app.state.view, own(app).memory.op, app.state.module]).toEqual(["memory", op, module]);
      press(">", "right");
    }
  });

  it("opens the op of the peak", () => {
    const { app, press } = appOf(trace, { view: "memory" });
    press("home", "p", "enter");
    const { op } = own(app).memory;
    const { highestBytes } = app.document.timeline();
    expect(highestBytes[op]).toBe(Math.max(...highestBytes));
    expect(screenText(app).join("\n")).toContain(`op ${op} ${trace.opName(op)}`);
  });

  it("finds, of a rank, the op in the trace, and says which ones sharding adds", () => {
    const { app, press } = appOf(trace, { view: "devices" });
    press("down", "down", "right");
    expect(app.document.settings.worldSize).toBe(2);
    const rank = app.document.memoryTrace();
    expect(rank.ops.count).toBeGreaterThan(trace.ops.count);
    const found = Array.from({ length: rank.ops.count }, (_, op) => app.document.opInTrace(op));
    const known = found.flatMap((op) => op ?? []);
    // Each op of the trace once, in its order.
    expect(known).toEqual(Array.from({ length: trace.ops.count }, (_, op) => op));
    for (const [op, inTrace] of found.entries())
      if (inTrace !== undefined) expect(rank.opName(op)).toBe(trace.opName(inTrace));
    press("5", "home");
    const added = found.indexOf(undefined);
    expect(added).toBeGreaterThanOrEqual(0);
    press("/", ...`${added} ${rank.opName(added)}`, "enter", "enter");
    expect([app.state.view, own(app).memory.op]).toEqual(["ops", added]);
    expect(screenText(app).at(-1)).toContain(`op ${added} is not in the trace: it was added by sharding`);
  });
});

describe("Esc", () => {
  it("goes back the way that one came, and to the first view from where one went by number", () => {
    const { app, press } = appOf(trace, { view: "compare" });
    press("down", "down", "enter");
    expect(app.state.view).toBe("ops");
    press("esc");
    expect(app.state.view).toBe("compare");
    press("enter", "4", "esc");
    expect(app.state.view).toBe(views[0].name);
  });

  it("closes what was opened with Enter before it leaves", () => {
    const { app, press } = appOf(trace, { view: "modules" });
    press("down", "enter", "enter");
    expect(own(app).ops.isDetailed).toBe(true);
    press("esc");
    expect([app.state.view, own(app).ops.isDetailed]).toEqual(["ops", false]);
    press("esc");
    expect(app.state.view).toBe("modules");
  });
});
