import { formatBytes, formatMs, formatPercent, summarizePlan, type ViewTable } from "@remat/reporting";
import { deviceSpec } from "@remat/runtime-estimator";
import { findPlanMismatch, type Plan } from "@remat/trace";
import type { App } from "../app/app.js";
import type { Area, View } from "../app/view.js";
import { savePlan } from "../app/write-out.js";
import { deviceChoices, hasOwnRuntimes, unitChoices, worldSizeChoices } from "../document/settings.js";
import type { TraceDocument } from "../document/trace-document.js";
import { besideEachOther } from "../text/beside.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { fitText } from "../text/fit-text.js";
import { barText } from "../text/glyphs.js";
import { fitLine, type Line } from "../text/line.js";
import { wrap } from "../text/wrap-text.js";
import { planFacts } from "./plan-facts.js";

/** One thing that can be changed here: what it is called, its values, and which one is in force. */
interface Knob {
  readonly label: string;
  readonly value: string;
  readonly note: string;
  change(step: 1 | -1): void;
}

/** For which device, allocator and number of ranks everything is counted; and a plan of the whole step for a budget. */
export const devicesView: View = {
  name: "devices",
  title: "Devices and plan",
  draw: drawDevices,
  move(app, by) {
    const { devices } = app.state;
    devices.row = Math.max(0, Math.min(knobs(app).length - 1, devices.row + by));
  },
  click(app, target) {
    if (target.kind !== "row") return;
    if (app.state.devices.row === target.index) knobs(app)[target.index].change(1);
    else app.state.devices.row = target.index;
  },
  actions: {
    left: (app) => knobs(app)[app.state.devices.row].change(-1),
    right: (app) => knobs(app)[app.state.devices.row].change(1),
    enter: (app) => knobs(app)[app.state.devices.row].change(1),
    plan: (app) => app.planStep(),
    savePlan,
    back(app) {
      if (!app.cancelPlanning()) app.state.view = "modules";
    },
  },
  search: (app) => ({
    count: deviceChoices.length,
    text: (index) => deviceChoices[index],
    current: deviceChoices.indexOf(app.document.settings.device ?? ""),
    show: (index) => app.changeSettings({ device: deviceChoices[index] }),
  }),
  table: exportTable,
  copied: (app) => app.document.settings.device,
};

function knobs(app: App): readonly Knob[] {
  const { document, state } = app;
  const { device, allocationUnitBytes, worldSize } = document.settings;
  const devices = [...(hasOwnRuntimes(document.recorded) ? [undefined] : []), ...deviceChoices];
  const spec = device === undefined ? undefined : deviceSpec(device);
  const fastest = spec === undefined ? 0 : Math.max(...Object.values(spec.tflops));
  return [
    {
      label: "Device",
      value: device ?? "as recorded",
      note:
        spec === undefined
          ? "the milliseconds that the trace came with"
          : `${fastest} TFLOP/s at best, ${spec.memoryGBps} GB/s${spec.memoryBytes === undefined ? "" : `, ${formatBytes(spec.memoryBytes)}`}`,
      change: (step) => app.changeSettings({ device: neighbour(devices, device, step) }),
    },
    {
      label: "Allocation unit",
      value: allocationUnitBytes === undefined ? "as it is" : formatBytes(allocationUnitBytes),
      note: `sizes are rounded up to a multiple of ${document.trace.header.allocationUnitBytes} B`,
      change: (step) => app.changeSettings({ allocationUnitBytes: neighbour(unitChoices, allocationUnitBytes, step) }),
    },
    {
      label: "World size",
      value: worldSize === 1 ? "1" : `${worldSize} ranks`,
      note: worldSize === 1 ? "one device holds everything" : "FSDP: weights, gradients and states in shards",
      change: (step) => app.changeSettings({ worldSize: neighbour(worldSizeChoices, worldSize, step) }),
    },
    {
      label: "Budget",
      value: formatPercent(state.devices.budgetShare),
      note: "of the recorded peak: what the whole step may hold (p plans for it)",
      change(step) {
        state.devices.budgetShare = Math.max(
          0.05,
          Math.min(1, Math.round((state.devices.budgetShare + 0.05 * step) * 100) / 100),
        );
      },
    },
  ];
}

function drawDevices(app: App, { width, height }: Area): Drawn {
  const { glyphs } = app;
  const all = knobs(app);
  const lines = all.map(({ label, value, note }, index): Line => {
    const isSelected = index === app.state.devices.row;
    const text = `${isSelected ? glyphs.selected : " "} ${fitText(label, 16, glyphs)}${fitText(`< ${value} >`, 20, glyphs)}`;
    return fitLine(
      [
        { text, style: isSelected ? "selected" : undefined },
        { text: `  ${note}`, style: "faint" },
      ],
      width,
      glyphs,
    );
  });
  const settings: Drawn = {
    lines: [[], ...lines, []],
    regions: lines.map((_, index) => ({ x: 0, y: index + 1, width, height: 1, target: { kind: "row", index } })),
  };
  const isWide = width >= 100;
  const half = isWide ? Math.floor(width / 2) - 1 : width;
  const effect = textOnly(...effectLines(app, half));
  const plan = textOnly(...planLines(app, isWide ? width - half - 2 : width));
  const both = isWide
    ? besideEachOther(effect, plan, { width: half, gap: 2 }, glyphs)
    : stack(effect, textOnly([]), plan);
  const drawn = stack(settings, both);
  return { lines: drawn.lines.slice(0, height), regions: drawn.regions };
}

/** Step time and peak under the settings, beside those that the document was opened with. */
function effectLines(app: App, width: number): readonly Line[] {
  const { glyphs } = app;
  const { opened, document } = app;
  const row = (label: string, before: string, after: string): Line =>
    fitLine(
      [
        { text: fitText(label, 18, glyphs) },
        { text: fitText(before, 13, glyphs, { align: "right" }), style: "faint" },
        { text: fitText(after, 13, glyphs, { align: "right" }), style: before === after ? undefined : "warning" },
      ],
      width,
      glyphs,
    );
  const step = (of: TraceDocument): number => of.tree().totals.forwardMs + of.tree().totals.backwardMs;
  return [
    [
      { text: fitText("", 18, glyphs) },
      { text: fitText("as opened", 13, glyphs, { align: "right" }), style: "header" },
      { text: fitText("now", 13, glyphs, { align: "right" }), style: "header" },
    ],
    row("Step", formatMs(step(opened)), formatMs(step(document))),
    row("  forward", formatMs(opened.tree().totals.forwardMs), formatMs(document.tree().totals.forwardMs)),
    row("  backward", formatMs(opened.tree().totals.backwardMs), formatMs(document.tree().totals.backwardMs)),
    row("Peak", peakText(opened), peakText(document)),
    ...wrap(memoryError(document) ?? "", width).map((text): Line => [{ text, style: "bad" }]),
  ];
}

function peakText(document: TraceDocument): string {
  try {
    const peak = document.peak();
    return peak === undefined ? "not told" : formatBytes(peak.totalBytes);
  } catch {
    return "not known";
  }
}

function memoryError(document: TraceDocument): string | undefined {
  try {
    document.memoryTrace();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function planLines(app: App, width: number): readonly Line[] {
  const { glyphs } = app;
  const { planning, outcome, point } = app.state.devices;
  const plan = point?.plan ?? app.state.plan;
  const wrapped = (text: string, style?: "bad" | "faint" | "warning"): readonly Line[] =>
    wrap(text, width).map((line): Line => [{ text: line, style }]);
  if (planning !== undefined)
    return [
      [{ text: "Planning the step", style: "strong" }],
      ...wrapped(planning.text),
      [],
      ...wrapped("Esc stops, and keeps the best so far.", "faint"),
    ];
  if (outcome !== undefined) return [[{ text: "No plan", style: "bad" }], ...wrapped(outcome)];
  if (plan === undefined)
    return [
      [{ text: "Plan of the step", style: "strong" }],
      ...wrapped("p: what to keep and what to run again, so that the step stays within the budget.", "faint"),
    ];
  const mismatch = findMismatch(app, plan);
  return [
    ...planFacts(plan, width, glyphs),
    ...(mismatch === undefined ? [] : wrapped(mismatch, "warning")),
    [],
    ...wrapped("w writes it to a file.", "faint"),
    ...(mismatch === undefined ? recomputedModules(app, plan) : []),
  ].map((line) => fitLine(line, width, glyphs));
}

/** Which modules run ops again, those first that take longest for it. */
function recomputedModules(app: App, plan: Plan): readonly Line[] {
  const { glyphs, document } = app;
  const { byModule, recomputed } = app.remember("devices.recomputed", [plan, document.trace], () =>
    // Of early release nothing is shown here.
    summarizePlan(plan, document.trace, { earlyRelease: plan, limit: 0 }),
  );
  if (byModule.length === 0) return [];
  return [
    [],
    [{ text: "Runs again, by module", style: "strong" }],
    ...byModule
      .slice(0, 8)
      .map(
        ({ name, runs, ms, bytes }): Line => [
          { text: `  ${fitText(name, 20, glyphs, { cut: "start" })} ` },
          { text: barText(recomputed.ms > 0 ? ms / recomputed.ms : 0, 8, glyphs), style: "bar" },
          { text: ` ${runs} ops, ${formatBytes(bytes)}`, style: "faint" },
        ],
      ),
  ];
}

function findMismatch(app: App, plan: Plan): string | undefined {
  const found = app.remember("devices.mismatch", [plan, app.document.recorded], () => ({
    mismatch: findPlanMismatch(plan, app.document.recorded),
  })).mismatch;
  return found === undefined
    ? undefined
    : `It does not fit this trace: op ${found.op} is planned as ${found.planned ?? "nothing"}, found ${found.found ?? "nothing"}.`;
}

function exportTable(app: App): ViewTable {
  const { document, opened, state } = app;
  const plan = state.devices.point?.plan ?? state.plan;
  const side = (of: TraceDocument): readonly (string | number | undefined)[] => [
    of.settings.device ?? "as recorded",
    of.trace.header.allocationUnitBytes,
    of.settings.worldSize,
    of.tree().totals.forwardMs + of.tree().totals.backwardMs,
    of.tree().totals.forwardMs,
    of.tree().totals.backwardMs,
    memoryError(of) === undefined ? of.peak()?.totalBytes : undefined,
  ];
  const columns = ["device", "allocationUnitBytes", "worldSize", "stepMs", "forwardMs", "backwardMs", "peakBytes"];
  return {
    title: `Devices and plan of ${document.name.title}`,
    columns: ["of", ...columns],
    rows: [
      ["as opened", ...side(opened)],
      ["now", ...side(document)],
      ...(plan === undefined
        ? []
        : [
            [
              "planned",
              plan.subject.device,
              undefined,
              1,
              plan.predicted.cost,
              undefined,
              undefined,
              plan.predicted.peakBytes,
            ],
          ]),
    ],
  };
}

function neighbour<T>(values: readonly T[], value: T, step: 1 | -1): T {
  const at = Math.max(0, values.indexOf(value));
  return values[(at + step + values.length) % values.length];
}
