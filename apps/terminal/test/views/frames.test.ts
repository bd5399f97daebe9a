import { memoryTimeline } from "@remat/memory";
import { categoryBands } from "@remat/reporting";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { Category, RuntimeSource, TraceBuilder } from "@remat/trace";
import { afterEach, describe, expect, it } from "vitest";
import type { App } from "../../src/app/app.js";
import { paintFrame } from "../../src/app/app-frames.js";
import { type ViewName, viewNames } from "../../src/views/views.js";
import { appOf, makeApp } from "../app/make-app.js";
import { evilTrace, resnet50, transformer } from "../traces.js";

const traces = { resnet50: await resnet50(), transformer: await transformer() };
const apps: App[] = [];
afterEach(() => {
  for (const app of apps.splice(0)) app.runner.works.stopAll();
});

/** Text of the screen, without colours. */
function frameOf(app: App): string {
  return rawFrameOf(app).replaceAll(/\u001b\[[\d;]*m/g, "");
}

function rawFrameOf(app: App): string {
  apps.push(app);
  return paintFrame(app.views, app.state)
    .rows.map((line) => line.trimEnd())
    .join("\n");
}

describe.each(Object.keys(traces) as (keyof typeof traces)[])("views of %s", (name) => {
  it.each(viewNames)("%s, 100 × 30", (view) => {
    const { app } = appOf(traces[name], { view });
    const frame = frameOf(app);
    expect(frame.split("\n")).toHaveLength(30);
    expect(frame).toMatchSnapshot();
  });

  it.each(viewNames)("%s, 80 × 24, ASCII only", (view) => {
    const { app } = appOf(traces[name], { view, ascii: true, size: { columns: 80, rows: 24 } });
    const frame = frameOf(app);
    expect(frame).toMatch(/^[\x20-\x7e\n]*$/);
    expect(frame).toMatchSnapshot();
  });
});

describe("a frame", () => {
  it("shows in view 4 the optimal policy once it has been found", async () => {
    const { app, press } = appOf(traces.transformer, { view: "tradeOff" });
    press("<", "<", "o");
    await app.runner.works.finish();
    expect(frameOf(app)).toMatchSnapshot();
  });

  it("has in 60 columns what matters: the peak's op, the whole legend, the difference, the key that tells of others", () => {
    const size = { columns: 60, rows: 20 };
    const lines = (view: ViewName): string[] => frameOf(appOf(traces.transformer, { view, size }).app).split("\n");
    const memory = lines("memory");
    expect(memory.find((line) => / op \d+ \w+ {2}/.test(line))).toMatch(
      /^after op \d+ \w+ {2}[\d.]+ MiB in \d+ storages/,
    );
    const legend = memory.filter((line) => !/\d/.test(line)).join(" ");
    for (const { label, bytes } of categoryBands(memoryTimeline(traces.transformer)).bands)
      if (bytes.some((value) => value > 0)) expect(legend).toContain(label);
    expect(legend).not.toContain("smaller");
    expect(lines("compare").some((line) => /difference$/.test(line))).toBe(true);
    for (const view of viewNames) expect(lines(view).at(-1)).toContain("? help");
  });

  it("says whole in 60 columns why a trace without modules and lifetimes shows nothing", () => {
    const b = new TraceBuilder({ framework: "pytorch", device: "cuda", mode: "fake", allocationUnitBytes: 1 });
    const storage = b.allocate(4, "cuda", Category.activation);
    const tensor = b.tensor({ storage, dtype: "float32", shape: [1] });
    b.op({ name: "aten.mul.Tensor", inputs: [tensor], outputs: [tensor] });
    const trace = b.build();
    const text = (view: ViewName): string =>
      frameOf(appOf(trace, { view, size: { columns: 60, rows: 20 } }).app).replaceAll(/\s+/g, " ");
    expect(text("held")).toContain("so live tensors are unknown.");
    expect(text("modules")).toContain("This trace has no modules. Its ops are in view 3.");
    expect(text("tradeOff")).toContain("so there is no trade-off to show.");
    expect(text("memory")).toContain("upper bound, frees unknown: peak 4 B at op 0");
    for (const view of viewNames) expect(text(view)).toContain("Peak memory is unknown: frees are not recorded");
  });

  it("is judged for where the step was recorded, if no device was asked for", () => {
    const { header, ops } = traces.transformer;
    const measured = {
      runtimeMs: new Float64Array(ops.count).fill(1),
      runtimeSource: new Uint8Array(ops.count).fill(RuntimeSource.measured),
    };
    const recorded = traces.transformer.withRuntimes(measured).withHeader({ ...header, deviceMemoryBytes: 2 ** 36 });
    expect(frameOf(appOf(recorded, {}).app)).toContain("of 64 GiB (where it was recorded)");
  });

  it("compares two traces", () => {
    const { app } = appOf(priceTrace(traces.transformer, deviceSpec("a100")), { view: "compare" });
    const other = priceTrace(traces.transformer, deviceSpec("h100"));
    app.dispatch({ kind: "compareWith", title: "on an h100", path: undefined, trace: other });
    expect(frameOf(app)).toMatchSnapshot();
  });

  it("shows results while one types", () => {
    const { app, press, type } = appOf(traces.resnet50);
    press("/");
    type("block3_2_c");
    expect(frameOf(app)).toMatchSnapshot();
  });

  it("shows the details of an op", () => {
    const { app, press } = appOf(traces.transformer, { view: "ops" });
    press("down", "down", "down", "enter");
    expect(frameOf(app)).toMatchSnapshot();
  });

  it("is a start screen where nothing is open, which tells of what is being opened", () => {
    const { app } = makeApp({
      host: {
        startEntries: () => [{ title: "net", target: "/a/net", note: "2026-01-01  /a/net" }],
        open: (_target, { onProgress }) => {
          onProgress("tracing net: net.dense_1 (3 module calls, 0.1 s)");
          return new Promise(() => undefined);
        },
      },
    });
    expect(frameOf(app)).toMatchSnapshot("entries");
    void app.open("/a/net");
    expect(frameOf(app)).toMatchSnapshot("opening");
  });

  it("only states the fact below 60 columns, or 12 rows", () => {
    for (const size of [
      { columns: 59, rows: 30 },
      { columns: 30, rows: 8 },
      { columns: 100, rows: 11 },
    ]) {
      const { app } = appOf(traces.transformer, { size });
      const frame = frameOf(app);
      expect(frame.replace(/\s+/g, " ")).toContain(`${size.columns} columns and ${size.rows} rows`);
      expect(frame.split("\n").every((line) => line.length <= size.columns)).toBe(true);
    }
  });

  it("fills any terminal exactly, in every view", () => {
    for (const view of viewNames)
      for (const size of [
        { columns: 60, rows: 12 },
        { columns: 80, rows: 24 },
        { columns: 100, rows: 50 },
      ]) {
        const { app } = appOf(traces.resnet50, { view, size });
        const lines = frameOf(app).split("\n");
        expect(lines.length, `${view} at ${size.columns} × ${size.rows}`).toBe(size.rows);
        expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(size.columns);
      }
  });

  it("never holds a control character, whatever names the trace has", () => {
    const trace = evilTrace();
    const screens: { view: ViewName; keys: string[] }[] = [
      ...viewNames.map((view) => ({ view, keys: [] })),
      { view: "ops", keys: ["a", "enter"] },
      { view: "modules", keys: ["*", "/", "[", "y"] },
      { view: "memory", keys: ["b"] },
      { view: "modules", keys: ["y"] },
    ];
    for (const { view, keys } of screens) {
      const { app, press } = appOf(trace, { view, isPlain: true });
      press(...keys);
      expect(rawFrameOf(app).replaceAll("\n", ""), `${view} ${keys.join(" ")}`).not.toMatch(/[\p{Cc}\u202e]/u);
    }
  });

  it("has colours where the terminal has them, and none with NO_COLOR", () => {
    const { app } = appOf(traces.transformer, { view: "memory", depth: "truecolor" });
    expect(rawFrameOf(app)).toMatch(/\u001b\[38;2;\d+;\d+;\d+m/);
    const dark = rawFrameOf(app);
    const { app: light } = appOf(traces.transformer, { view: "memory", depth: "truecolor", theme: "light" });
    expect(rawFrameOf(light)).not.toBe(dark);
    const { app: plain } = appOf(traces.transformer, { view: "memory", depth: "none" });
    expect(rawFrameOf(plain)).not.toMatch(/\u001b\[[\d;]*(3|4|9|10)\d/);
  });
});
