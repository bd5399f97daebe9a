import { heldPeak } from "@remat/memory";
import { planModule } from "@remat/planner/module-policy";
import { type SACStats, sacStats } from "@remat/sac-core";
import { parseShardingPlan, simulateFsdp } from "@remat/sharding";
import { readPlan, type Trace } from "@remat/trace";
import { describe, expect, it } from "vitest";
import type { OpenOptions } from "../../src/app/host.js";
import type { Opened } from "../../src/state/opened.js";
import { targetAt } from "../../src/text/drawn.js";
import { viewNames } from "../../src/views/views.js";
import { evilTrace, resnet50, transformer } from "../traces.js";
import { appOf, makeApp, own, screenOf, screenText, tableOf, tooWide } from "./make-app.js";

const resnet = await resnet50();
const former = await transformer();

/** Waits until something holds that other work brings about. */
async function until(isThere: () => boolean): Promise<void> {
  for (let tries = 0; tries < 2000 && !isThere(); tries++) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(isThere()).toBe(true);
}

describe("modules", () => {
  it("expand, collapse and are walked", () => {
    const { app, press } = appOf(resnet, { view: "modules" });
    press("-");
    const rows = (): string[] =>
      screenText(app)
        .slice(3, -1)
        .filter((line) => line.trim() !== "");
    expect(rows()).toHaveLength(1);
    press("right");
    expect(rows().length).toBeGreaterThan(5);
    press("down", "right", "down");
    expect(app.state.module).toBe("resnet50.conv1.conv1_pad");
    press("left");
    expect(app.state.module).toBe("resnet50.conv1");
    press("left", "left", "left");
    expect([app.state.module, rows().length]).toEqual(["resnet50", 1]);
    press("*", "G");
    expect(own(app).modules.expanded.size).toBeGreaterThan(20);
    expect(app.state.module).toBe(app.document.tree().nodes.at(-1)?.fqn);
    press("[", "[", "[", "[", "[");
    expect(rows()).toHaveLength(1);
  });

  it("are sorted by every column on the screen, both ways, by keys and by clicks on headers", () => {
    const { app, press } = appOf(resnet, { view: "modules", size: { columns: 140, rows: 30 } });
    press("s");
    expect(own(app).modules.sort).toEqual({ column: "name", descending: false });
    press("s");
    expect(own(app).modules.sort).toEqual({ column: "memoryBytes", descending: true });
    press("r");
    expect(own(app).modules.sort).toEqual({ column: "memoryBytes", descending: false });
    press("s", "s", "s", "s", "s", "s");
    expect(own(app).modules.sort).toBeUndefined();
    press("S");
    expect(own(app).modules.sort).toEqual({ column: "calls", descending: true });
    const { regions } = screenOf(app);
    const header = regions.find(({ target }) => target.kind === "header" && target.column === "savedBytes")!;
    const click = (): void =>
      app.handle({ kind: "press", x: header.x, y: header.y }, targetAt(regions, header.x, header.y));
    click();
    expect(own(app).modules.sort).toEqual({ column: "savedBytes", descending: true });
    click();
    expect(own(app).modules.sort).toEqual({ column: "savedBytes", descending: false });
    click();
    expect(own(app).modules.sort).toBeUndefined();
  });

  it("are sorted by no column that is not on the screen", () => {
    const { app, press } = appOf(resnet, { view: "modules", size: { columns: 60, rows: 20 } });
    const sortedBy = new Set<string>();
    for (let i = 0; i < 12; i++) {
      press("s");
      const { sort } = own(app).modules;
      if (sort === undefined) continue;
      sortedBy.add(sort.column);
      expect(screenText(app)[3]).toMatch(/[▲▼]/);
    }
    expect([...sortedBy]).toEqual(["name", "memoryBytes", "runtimeMs", "savedBytes"]);
  });

  it("drill into their ops, and back", () => {
    const { app, press } = appOf(resnet, { view: "modules" });
    press("down", "down", "down", "enter");
    expect(app.state.view).toBe("ops");
    expect(screenText(app)[2]).toMatch(/^resnet50\.conv1\.conv1_conv {2}1 ops/);
    press("enter");
    expect(screenText(app).join("\n")).toContain("outputs float32[8,112,112,64]");
    press("esc");
    expect(app.state.view).toBe("ops");
    press("esc");
    expect(app.state.view).toBe("modules");
  });
});

describe("ops", () => {
  it("are filtered as one types, and shown again by Esc", () => {
    const { app, press, type } = appOf(former, { view: "ops" });
    const all = screenText(app)[2];
    press("f");
    type("softmax");
    expect(screenText(app)[2]).toMatch(/ {2}\d ops.*filter: softmax/);
    press("enter");
    expect(app.state.prompt).toBeUndefined();
    expect(screenText(app)[2]).toContain("filter: softmax");
    press("esc");
    expect(screenText(app)[2]).toBe(all);
  });

  it("keep the cursor on an op that is sorted elsewhere", () => {
    const { app, press } = appOf(former, { view: "ops" });
    press("down", "down", "down", "down", "y", "s", "s", "s", "s");
    const { app: other, press: pressOther, deeds } = appOf(former, { view: "ops" });
    pressOther("down", "down", "down", "down", "y", "s", "s", "s", "s", "y");
    expect(deeds.copied[1]).toBe(deeds.copied[0]);
    expect(own(other).ops.sort).toEqual({ column: "memoryBytes", descending: true });
    expect(own(app).ops.cursor).toBe(own(other).ops.cursor);
  });

  it("are of the whole step, too", () => {
    const { app, press } = appOf(former, { view: "ops" });
    press("a");
    expect(screenText(app)[2]).toMatch(new RegExp(`the whole step {2}${former.ops.count} ops`));
  });
});

describe("a search", () => {
  it("goes to the next and the previous match, round and round", () => {
    const { app, press, type } = appOf(resnet, { view: "modules" });
    press("/");
    type("block1_out");
    press("enter");
    const found: (string | undefined)[] = [app.state.module];
    for (let i = 0; i < 4; i++) {
      press("n");
      found.push(app.state.module);
    }
    expect(found).toEqual(
      ["conv2", "conv3", "conv4", "conv5", "conv2"].map((name) => `resnet50.${name}.${name}_block1.${name}_block1_out`),
    );
    press("N");
    expect(app.state.module).toBe(found[3]);
  });

  it("finds nothing, and says so; Esc leaves everything as it was", () => {
    const { app, press, type } = appOf(resnet, { view: "modules" });
    press("down", "/");
    type("zzz");
    expect(screenText(app).at(-1)).toContain("no match");
    press("enter");
    expect(app.state.notice?.text).toBe("no match for zzz");
    press("n");
    expect(app.state.notice?.kind).toBe("warning");
    press("/");
    type("conv5");
    press("esc");
    expect(app.state.module).toBe("resnet50.conv1");
  });

  it("can be made in every view", async () => {
    for (const view of viewNames) {
      const { app, press, type } = appOf(former, { view });
      // The searched answers must be there first.
      if (view === "whatIf") await app.runner.works.finish();
      press("/");
      type(view === "devices" ? "h100" : view === "memory" ? "softmax" : "e");
      const { prompt } = app.state;
      // Nothing outlives the step of this trace.
      const fewest = view === "leaks" ? 0 : 1;
      expect(prompt?.kind === "search" ? prompt.total : 0, view).toBeGreaterThanOrEqual(fewest);
      press("down", "enter");
      expect(() => screenText(app)).not.toThrow();
      app.runner.works.stopAll();
    }
  });
});

describe("the budget", () => {
  it("changes the plan, as the greedy order and the planner have it", async () => {
    const { app, press } = appOf(former, { view: "tradeOff" });
    press("H", "H", "left", "o");
    expect(own(app).tradeOff.budgetShare).toBeCloseTo(0.29, 12);
    await app.runner.works.finish();
    const stats = sacStats(app.document.trace).get(app.state.module!) as SACStats;
    const best = await planModule(stats, {
      budgetBytes: Math.ceil(0.29 * stats.memoryBytes.reduce((a, b) => a + b, 0)),
    });
    const text = screenText(app).join("\n");
    expect(text).toContain(`${best.recomputedOps.length - stats.viewLikeOps.length} recomputed`);
    const { rows } = tableOf(app);
    expect(rows.filter((row) => row[3] === "recomputed")).toHaveLength(
      best.recomputedOps.length - stats.viewLikeOps.length,
    );
    press(...new Array<string>(30).fill("H"));
    expect(own(app).tradeOff.budgetShare).toBe(0);
    press(...new Array<string>(30).fill("L"));
    expect(own(app).tradeOff.budgetShare).toBe(1);
  });

  it("follows a click into the curve", () => {
    const { app } = appOf(former, { view: "tradeOff" });
    const { regions } = screenOf(app);
    const plot = regions.find(({ target }) => target.kind === "plot")!;
    app.handle({ kind: "press", x: plot.x, y: plot.y }, targetAt(regions, plot.x, plot.y));
    expect(own(app).tradeOff.budgetShare).toBe(0);
    app.handle(
      { kind: "press", x: plot.x + plot.width - 1, y: plot.y },
      targetAt(regions, plot.x + plot.width - 1, plot.y),
    );
    expect(own(app).tradeOff.budgetShare).toBe(1);
  });
});

describe("memory", () => {
  it("is zoomed and panned, and the cursor stays on the screen", () => {
    const { app, press } = appOf(resnet, { view: "memory" });
    screenText(app);
    expect(own(app).memory.op).toBe(3708);
    press("+", "+", "+", "+");
    const { from, to } = own(app).memory;
    expect(to - from).toBeCloseTo(resnet.ops.count / 16, -1);
    press("H", "H", "H", "H", "H", "H", "H", "H", "H", "H", "H", "H");
    expect(own(app).memory.op).toBeGreaterThanOrEqual(own(app).memory.from);
    expect(own(app).memory.from).toBeLessThan(from);
    expect(own(app).memory.to - own(app).memory.from).toBe(to - from);
    press("home");
    expect(own(app).memory.op).toBe(0);
    press("end");
    expect(own(app).memory.op).toBe(resnet.ops.count - 1);
    press("p");
    expect(own(app).memory.op).toBe(3708);
    press("esc");
    expect([own(app).memory.from, own(app).memory.to]).toEqual([0, resnet.ops.count]);
    press("b");
    expect(screenText(app).join("\n")).toContain("by module");
    press("enter");
    expect([app.state.view, app.state.module]).toEqual(["ops", "resnet50.conv1.conv1_bn"]);
  });
});

describe("devices and plan", () => {
  it("change step time and peak", () => {
    const { app, press } = appOf(resnet, { view: "devices" });
    const step = (): number => app.document.tree().totals.forwardMs + app.document.tree().totals.backwardMs;
    const [time, peak] = [step(), app.document.peak()!.totalBytes];
    press("/", ..."h100-sxm", "enter");
    press("right");
    expect(app.document.settings.device?.name).not.toBe("a100");
    expect(step()).not.toBe(time);
    press("down", "right", "right", "right", "right", "right", "right", "right");
    expect(app.document.settings.allocationUnitBytes).toBeGreaterThan(512);
    expect(app.document.peak()!.totalBytes).toBeGreaterThan(peak);
    press("down", "right");
    expect(app.document.settings.worldSize).toBe(2);
    expect(app.document.memoryTrace()).not.toBe(app.document.trace);
    expect(screenText(app).join("\n")).toContain("2 ranks");
    press("6");
    expect(screenText(app).join("\n")).toMatch(/as opened: a100 vs\. now: .* one of 2 ranks/);
  });

  it("shard as is typed, and as memory --fsdp says it", () => {
    const { app, press } = appOf(former, { view: "devices" });
    const peakUnder = (plan: string): number =>
      heldPeak(simulateFsdp(app.document.trace, parseShardingPlan(plan)).trace).peakBytes;
    press("down", "down", "right", "down");
    expect(app.document.peak()!.totalBytes).toBe(peakUnder("world=2"));
    press("right");
    expect(app.document.settings.sharding).toBe("no-reshard");
    expect(app.document.peak()!.totalBytes).toBe(peakUnder("world=2,no-reshard"));
    press("enter", ...",bf16", "enter");
    expect(app.document.settings.sharding).toBe("no-reshard,bf16");
    expect(app.document.peak()!.totalBytes).toBe(peakUnder("world=2,no-reshard,bf16"));
    press("enter", ...",often", "enter");
    expect(screenText(app).join("\n")).toContain("often");
    expect(screenText(app).join("\n")).toContain("unknown");
  });

  it("say why a trace cannot be sharded", () => {
    const { app, press } = appOf(evilTrace(), { view: "devices" });
    press("down", "down", "right");
    expect(screenText(app).join("\n")).toContain("unknown");
    press("5");
    expect(screenText(app).join("\n")).toMatch(/trace/);
  });

  it("plan the step within the budget, and write the plan to a file", async () => {
    const { app, press, deeds } = appOf(former, { view: "devices" });
    press("w");
    expect(app.state.notice?.text).toContain("Press p");
    press("p");
    expect(own(app).devices.planning).toBeDefined();
    await until(() => own(app).devices.stepPlan !== undefined);
    expect(own(app).devices.planning).toBeUndefined();
    expect(screenText(app).join("\n")).toContain("steps are recomputations");
    press("w");
    expect(deeds.files).toEqual([]);
    expect(screenText(app).at(-1)).toContain("write the plan to: transformer.plan.json");
    press("esc");
    expect(deeds.files).toEqual([]);
    press("w", "ctrl+u", ..."mine.plan.json", "enter");
    press("w", "enter");
    expect(deeds.files.map(({ name }) => name)).toEqual(["mine.plan.json", "transformer.plan.json"]);
    expect(deeds.files[1].text).toBe(deeds.files[0].text);
    const plan = readPlan(deeds.files[0].text);
    expect(plan.predicted.peakBytes).toBeLessThanOrEqual(plan.origin.budgetBytes);
    expect(app.state.notice?.text).toBe("written: /folder/transformer.plan.json");
  });

  it("say that a trace without a backward pass has no step", async () => {
    const { app, press } = appOf(evilTrace(), { view: "devices" });
    press("p");
    await until(() => own(app).devices.outcome !== undefined);
    expect(screenText(app).join("\n")).toContain("no backward pass");
  });
});

describe("an export", () => {
  it("holds what the view shows, in three formats, and says where it is", async () => {
    for (const view of viewNames)
      for (const [key, ending] of [
        ["c", "csv"],
        ["j", "json"],
        ["m", "md"],
      ]) {
        const { app, press, deeds } = appOf(former, { view });
        if (view === "whatIf") await app.runner.works.finish();
        press("e", key);
        const [{ name, text }] = deeds.files;
        expect(name).toMatch(new RegExp(`^transformer-[a-z-]+\\.${ending}$`));
        expect(text.length).toBeGreaterThan(50);
        if (ending === "json" && view !== "leaks")
          expect((JSON.parse(text) as { rows: unknown[] }).rows.length).toBeGreaterThan(1);
        expect(app.state.notice?.text).toBe(`written: /folder/${name}`);
        app.runner.works.stopAll();
      }
  });

  it("is in the order and with the filter of the screen", () => {
    const { press, deeds } = appOf(former, { view: "ops" });
    press("f", ..."matmul", "enter", "s", "s", "s", "s", "e", "c");
    const rows = deeds.files[0].text
      .trimEnd()
      .split("\r\n")
      .slice(1)
      .map((line) => line.split(","));
    expect(rows.length).toBeGreaterThan(3);
    expect(rows.every(([, name, , module]) => /matmul/i.test(name + module))).toBe(true);
    const bytes = rows.map((cells) => Number(cells[5]));
    expect(bytes).toEqual(bytes.toSorted((a, b) => b - a));
  });

  it("is not made by other keys, and failing to write is no crash", () => {
    const { app, press, deeds } = appOf(former);
    press("e", "x");
    expect([deeds.files, app.state.exporting]).toEqual([[], false]);
    const failing = appOf(former, {
      host: {
        writeFile: () => {
          throw new Error("EROFS: read-only file system");
        },
      },
    });
    failing.press("e", "c");
    expect(failing.app.state.notice).toEqual({ text: expect.stringContaining("EROFS"), kind: "warning" });
  });
});

describe("the saved state of a trace", () => {
  it("is saved on leaving and brought back", () => {
    const { press, deeds } = appOf(resnet, { view: "tradeOff" });
    press("left", "left", "2", "down", "down", "s", "s", "7", "/", ..."h100", "enter", "4", "q");
    expect(deeds.quits).toBe(1);
    const [{ view }] = deeds.saved;
    expect(view).toMatchObject({
      view: "tradeOff",
      module: "resnet50.conv1.conv1_pad",
      views: { tradeOff: { budgetShare: 0.48 } },
    });
    const { app } = appOf(resnet, { host: { loadView: () => JSON.parse(JSON.stringify(view)) as object } });
    expect(app.state.view).toBe("tradeOff");
    expect(app.state.module).toBe("resnet50.conv1.conv1_pad");
    expect(own(app).modules.sort).toEqual({ column: "memoryBytes", descending: true });
    expect(app.document.settings.device?.name).toBe(view.device);
    expect(view.device).toContain("h100");
  });

  it("does no harm where it is nonsense", () => {
    const nonsense = {
      view: 7,
      module: "gone",
      views: { modules: { sort: "x" }, ops: { sort: { column: "no" } }, tradeOff: { budgetShare: -3 }, devices: null },
      device: "abacus",
    };
    const { app } = appOf(resnet, { host: { loadView: () => nonsense as never } });
    expect(app.state.view).toBe("held");
    expect(own(app).tradeOff.budgetShare).toBe(0.5);
    expect(app.document.settings.device?.name).toBe("a100");
    expect(() => screenText(app)).not.toThrow();
  });
});

describe("opening", () => {
  const opened = (trace: Trace): Opened => ({ kind: "trace", title: "net", path: "/net", trace });

  it("tells what is being done, and can be stopped", async () => {
    let asked: OpenOptions | undefined;
    const { app, press } = makeApp({
      host: {
        startEntries: () => [{ title: "net", target: "/net", note: "" }],
        open: (_target, options) => {
          asked = options;
          return new Promise(() => undefined);
        },
      },
    });
    press("enter");
    asked?.onProgress("tracing net: net.dense_1");
    expect(screenText(app).join("\n")).toContain("tracing net: net.dense_1");
    press("esc");
    expect(asked?.signal.aborted).toBe(true);
    expect(screenText(app).join("\n")).toContain("stopped");
    expect(app.state.start.loading).toBeUndefined();
  });

  it("shows why something cannot be opened, and what was asked for next", async () => {
    const { app, press } = makeApp({
      host: {
        open: async (target) => (target === "bad" ? Promise.reject(new Error("bad: no such file")) : opened(former)),
      },
    });
    press("O", ..."bad", "enter");
    await until(() => app.state.start.error !== undefined);
    expect(screenText(app).join("\n")).toContain("bad: no such file");
    press("O", ..."good", "enter");
    await until(() => app.state.run !== undefined && app.state.screen === "views");
    expect(screenText(app)[0]).toContain("net");
  });

  it("compares two traces, and shows a plan with the trace that it is for, or by itself", async () => {
    const planner = appOf(former, { view: "devices" });
    planner.press("p");
    await until(() => own(planner.app).devices.stepPlan !== undefined);
    const plan = own(planner.app).devices.stepPlan!;
    const host = {
      open: async (target: string): Promise<Opened> =>
        target === "plan"
          ? { kind: "plan", title: "plan.json", path: "/plan", plan, following: "remat run MODEL --plan plan.json" }
          : opened(target === "resnet" ? resnet : former),
    };
    const two = makeApp({ host });
    await two.app.open("a", "b");
    expect(two.app.state.view).toBe("compare");
    const both = makeApp({ host });
    await both.app.open("plan", "a");
    expect(both.app.state.view).toBe("devices");
    expect(screenText(both.app).join("\n")).toContain("Plan of Transformer");
    expect(screenText(both.app).join("\n")).not.toContain("does not fit");
    const other = makeApp({ host });
    await other.app.open("resnet", "plan");
    expect(screenText(other.app).join("\n")).toContain("does not fit this trace: op 0");
    expect(screenText(other.app).join("\n")).not.toContain("w writes it");
    const alone = makeApp({ host });
    await alone.app.open("plan");
    expect(alone.app.state.screen).toBe("plan");
    // Whose plan it is, whether it fits, and what to type.
    expect(screenText(alone.app)[0]).toMatch(/^ remat {2}plan\.json/);
    const shown = screenText(alone.app).map((line) => line.trimEnd());
    expect(shown.join("\n")).toMatch(/Plan of Transformer[\s\S]*Step +Op/);
    expect(shown.find((line) => line.startsWith("  fits"))).toMatch(/ yes, .* to spare of 80 GiB \(a100\)$/);
    expect(shown).toContain("  type    remat run MODEL --plan plan.json");
    alone.press("G", "e", "c");
    expect(alone.deeds.files[0].text.trimEnd().split("\r\n")).toHaveLength(plan.steps.length + 1);
    alone.press("esc");
    expect(alone.app.state.screen).toBe("start");
  });
});

it("draws no line wider than the terminal, whatever its size and the trace's names", () => {
  for (const trace of [former, evilTrace()])
    for (const view of viewNames)
      for (const columns of [60, 61, 79, 96, 100, 133, 200]) {
        const { app } = appOf(trace, { view, size: { columns, rows: 24 } });
        expect(tooWide(app), `${view} at ${columns}`).toEqual([]);
        app.runner.works.stopAll();
      }
});
