import { formatBytes, formatPercent, type ViewTable } from "@remat/reporting";
import { msOfTimes } from "@remat/runtime-estimator";
import { Phase, type Plan, type Trace, writePlan } from "@remat/trace";
import { wrapText } from "@remat/trace/text";
import { readShare } from "../document/read-share.js";
import { deviceChoices, hasOwnRuntimes, shardingChoices, unitChoices, worldSizeChoices } from "../document/settings.js";
import type { TraceDocument } from "../document/trace-document.js";
import { effectLines, memoryError } from "../drawing/settings-effect.js";
import { stepPlanLines } from "../drawing/step-plan.js";
import { fileNameOf } from "../state/file-name.js";
import type { Outcome, Scene, View, ViewAction, ViewRequest } from "../state/view.js";
import type { ViewAnswer } from "../state/work.js";
import { besideEachOther } from "../text/beside.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { fitText } from "../text/fit-text.js";
import { fitLine, type Line } from "../text/line.js";

export interface DevicesState {
  /** The setting at the cursor. */
  readonly row: number;
  /** The text being typed: a file for the plan, or sharding options. */
  readonly asked: "plan" | "sharding";
  /** Budget of the whole step, as a share of the recorded peak. */
  readonly budgetShare: number;
  /** The step that is being planned, and the progress. */
  readonly planning: { readonly trace: Trace; readonly text: string } | undefined;
  readonly stepPlan: Plan | undefined;
  /** Why there is no plan. */
  readonly outcome: string | undefined;
}

export type DevicesKey = "left" | "right" | "plan" | "savePlan";

/** Device, allocator and number of ranks for all figures, and a plan of the whole step for a budget. */
export const devicesView: View<DevicesState, DevicesKey> = {
  name: "devices",
  title: "Devices",
  shortTitle: "Dev",
  opensFor: "plan",
  keys: [
    { keys: ["left", "h"], action: "left", help: "previous value", hint: "change", hintKeys: "Left Right" },
    { keys: ["right", "l"], action: "right", help: "next value" },
    { keys: ["p"], action: "plan", help: "plan the whole step for the budget; Esc cancels", hint: "plan" },
    { keys: ["w"], action: "savePlan", help: "write the plan to a file", hint: "write plan" },
  ],
  initial: () => ({
    row: 0,
    asked: "plan",
    budgetShare: 0.3,
    planning: undefined,
    stepPlan: undefined,
    outcome: undefined,
  }),
  reduce,
  draw: drawDevices,
  search: ({ document }) => ({
    count: deviceChoices.length,
    text: (index) => deviceChoices[index].name,
    current: deviceChoices.findIndex(({ name }) => name === document.settings.device?.name),
  }),
  table: exportTable,
  copied: ({ document }) => document.settings.device?.name,
  save: ({ budgetShare }) => ({ budgetShare }),
  restore: (_scene, own, saved) => ({
    ...own,
    budgetShare: readShare((saved as { readonly budgetShare?: unknown } | null)?.budgetShare, own.budgetShare),
  }),
};

function reduce(scene: Scene, own: DevicesState, action: ViewAction<DevicesKey>): Outcome<DevicesState> {
  switch (action.kind) {
    case "key":
      return onKey(scene, own, action.action);
    case "move":
      return { own: { ...own, row: rowBy(own, action.by) } };
    case "wheel":
      return { own: { ...own, row: rowBy(own, 3 * action.steps) } };
    case "click":
      if (action.target.kind !== "row") return { own };
      if (own.row === action.target.index) return turnKnob(scene, own, 1);
      return { own: { ...own, row: action.target.index } };
    case "enter":
      return knobNames[own.row] === "sharding" ? askSharding(scene, own) : turnKnob(scene, own, 1);
    case "back":
      if (own.planning === undefined) return { own, requests: [{ kind: "leave" }] };
      return { own, requests: [{ kind: "stopWork", work: "planWholeStep" }] };
    case "choose":
      return { own, requests: [{ kind: "settings", settings: { device: deviceChoices[action.index] } }] };
    case "answer":
      return { own: answered(own, action.answer) };
    case "accepted":
      if (own.asked === "sharding") return { own, requests: shardingRequests(scene, action.text.trim()) };
      return { own, requests: writeRequests(scene, own, action.text.trim()) };
    case "typed":
    case "arrive":
      return { own };
  }
}

function onKey(scene: Scene, own: DevicesState, action: DevicesKey): Outcome<DevicesState> {
  switch (action) {
    case "left":
      return turnKnob(scene, own, -1);
    case "right":
      return turnKnob(scene, own, 1);
    case "plan":
      return planWholeStep(scene, own);
    case "savePlan": {
      const plan = own.stepPlan ?? scene.plan;
      const request: ViewRequest =
        plan === undefined
          ? { kind: "tell", text: "There is no plan yet. Press p to make one.", isWarning: true }
          : {
              kind: "ask",
              label: "write the plan to: ",
              text: `${fileNameOf(plan.subject.name)}.plan.json`,
              hint: "Enter writes it, Esc cancels",
            };
      return { own: { ...own, asked: "plan" }, requests: [request] };
    }
  }
}

function askSharding({ document }: Scene, own: DevicesState): Outcome<DevicesState> {
  const request: ViewRequest = {
    kind: "ask",
    label: "sharding: ",
    text: document.settings.sharding,
    hint: "such as wrap='h.*',bf16,no-reshard",
  };
  return { own: { ...own, asked: "sharding" }, requests: [request] };
}

/** Typed text takes effect immediately, with at least two ranks. An invalid text is reported next to the peak. */
function shardingRequests({ document }: Scene, sharding: string): readonly ViewRequest[] {
  return [{ kind: "settings", settings: { sharding, worldSize: Math.max(2, document.settings.worldSize) } }];
}

function writeRequests(scene: Scene, own: DevicesState, name: string): readonly ViewRequest[] {
  const plan = own.stepPlan ?? scene.plan;
  return plan === undefined || name === "" ? [] : [{ kind: "writeFile", name, text: writePlan(plan) }];
}

function planWholeStep({ document }: Scene, own: DevicesState): Outcome<DevicesState> {
  const { trace } = document;
  if (own.planning !== undefined) return { own };
  const fresh: DevicesState = { ...own, outcome: undefined, stepPlan: undefined };
  if (!trace.hasPhase(Phase.backward))
    return { own: { ...fresh, outcome: "The trace has no backward pass, so there is no step to plan." } };
  const { budgetShare } = own;
  return {
    own: { ...fresh, planning: { trace, text: "reading the step" } },
    requests: [{ kind: "work", work: { kind: "planWholeStep", trace, planned: document.planned(), budgetShare } }],
  };
}

function answered(own: DevicesState, answer: ViewAnswer): DevicesState {
  const { planning } = own;
  switch (answer.kind) {
    case "stepProgress":
      return answer.trace === planning?.trace ? { ...own, planning: { ...planning, text: answer.text } } : own;
    case "stepPlanned":
      if (answer.trace !== planning?.trace) return own;
      return { ...own, planning: undefined, stepPlan: answer.plan, outcome: answer.reason };
    default:
      return own;
  }
}

/** The settings, from the top down. */
const knobNames = ["device", "allocationUnitBytes", "worldSize", "sharding", "budget"] as const;
type KnobName = (typeof knobNames)[number];

function rowBy({ row }: DevicesState, by: number): number {
  return Math.max(0, Math.min(knobNames.length - 1, row + by));
}

function turnKnob(scene: Scene, own: DevicesState, step: 1 | -1): Outcome<DevicesState> {
  const { document } = scene;
  const { device, allocationUnitBytes, worldSize, sharding } = document.settings;
  const name = knobNames[own.row];
  switch (name) {
    case "device": {
      const devices = [...(hasOwnRuntimes(document.recorded) ? [undefined] : []), ...deviceChoices];
      return { own, requests: [{ kind: "settings", settings: { device: neighbour(devices, device, step) } }] };
    }
    case "allocationUnitBytes": {
      const settings = { allocationUnitBytes: neighbour(unitChoices, allocationUnitBytes, step) };
      return { own, requests: [{ kind: "settings", settings }] };
    }
    case "worldSize": {
      const settings = { worldSize: neighbour(worldSizeChoices, worldSize, step) };
      return { own, requests: [{ kind: "settings", settings }] };
    }
    case "sharding":
      return { own, requests: shardingRequests(scene, neighbour(shardingChoices, sharding, step)) };
    case "budget": {
      const wanted = Math.round((own.budgetShare + 0.05 * step) * 100) / 100;
      return { own: { ...own, budgetShare: Math.max(0.05, Math.min(1, wanted)) } };
    }
  }
}

/** Returns a setting's name, its current value, and an explanation. */
function describeKnob(
  { document }: Scene,
  { budgetShare }: DevicesState,
  name: KnobName,
): readonly [string, string, string] {
  const { device, allocationUnitBytes, worldSize, sharding } = document.settings;
  switch (name) {
    case "device": {
      if (device === undefined) return ["Device", "as recorded", "the milliseconds that the trace came with"];
      const memory = device.memoryBytes === undefined ? "" : `, ${formatBytes(device.memoryBytes)}`;
      const fastest = Math.max(...Object.values(device.tflops));
      return ["Device", device.name, `${fastest} TFLOP/s at best, ${device.memoryGBps} GB/s${memory}`];
    }
    case "allocationUnitBytes":
      return [
        "Allocation unit",
        allocationUnitBytes === undefined ? "unchanged" : formatBytes(allocationUnitBytes),
        `sizes are rounded up to a multiple of ${document.trace.header.allocationUnitBytes} B`,
      ];
    case "worldSize":
      return worldSize === 1
        ? ["World size", "1", "one device, no sharding"]
        : [
            "World size",
            `${worldSize} ranks`,
            `FSDP of ${wrappedText(document)}: weights, gradients and optimizer states are sharded`,
          ];
    case "sharding":
      return [
        "Sharding",
        sharding === "" ? "default" : sharding,
        "wrapping, resharding and precision of ranks, as in --fsdp (Enter edits it)",
      ];
    case "budget":
      return ["Budget", formatPercent(budgetShare), "of the recorded peak (press p to plan for it)"];
  }
}

/** The units of sharding. An error in them is shown next to the peak. */
function wrappedText(document: TraceDocument): string {
  const wrap = memoryError(document) === undefined ? (document.simulation()?.plan.wrap ?? []) : [];
  return ["the root", ...wrap].join(", ");
}

function drawDevices(scene: Scene, own: DevicesState): Drawn {
  const { width, height } = scene.area;
  const { glyphs } = scene.look;
  const isWide = width >= 100;
  const knobs = knobNames.map((name) => describeKnob(scene, own, name));
  const lines = knobs.map(([label, value, note], index): Line => {
    const isSelected = index === own.row;
    const text = `${isSelected ? glyphs.selected : " "} ${fitText(label, 16, glyphs)}${fitText(`< ${value} >`, 20, glyphs)}`;
    return fitLine(
      [
        { text, style: isSelected ? "selected" : undefined },
        { text: isWide ? `  ${note}` : "", style: "faint" },
      ],
      width,
      glyphs,
    );
  });
  const above: readonly Line[] = isWide ? [[]] : [];
  const settings: Drawn = {
    lines: [...above, ...lines, ...(isWide ? [[]] : noteLines(knobs[own.row][2], width))],
    regions: lines.map((_, index) => ({
      x: 0,
      y: above.length + index,
      width,
      height: 1,
      target: { kind: "row", index },
    })),
  };
  const half = isWide ? Math.floor(width / 2) - 1 : width;
  const effect = textOnly(...effectLines(scene.run.opened, scene.document, half, glyphs));
  const { planning, outcome, stepPlan } = own;
  const step = { progress: planning?.text, outcome, plan: stepPlan ?? scene.plan };
  const plan = textOnly(...stepPlanLines(scene.document, step, isWide ? width - half - 2 : width, glyphs));
  const both = isWide
    ? besideEachOther(effect, plan, { width: half, gap: 2 }, glyphs)
    : // This layout does not scroll, so the plan comes first.
      stack(plan, textOnly([]), effect);
  const drawn = stack(settings, both);
  return { lines: drawn.lines.slice(0, height), regions: drawn.regions };
}

/** The full explanation of the selected value, if there is no space next to it. */
function noteLines(note: string, width: number): readonly Line[] {
  const lines = wrapText(note, width - 2).map((text): Line => [{ text: `  ${text}`, style: "faint" }]);
  // Keeps the lines below in place whatever is selected.
  return lines.length < 2 ? [...lines, []] : lines;
}

function exportTable({ run: { document, opened }, plan: known }: Scene, { stepPlan }: DevicesState): ViewTable {
  const plan = stepPlan ?? known;
  const side = (of: TraceDocument): readonly (string | number | undefined)[] => [
    of.settings.device?.name ?? "as recorded",
    of.trace.header.allocationUnitBytes,
    of.settings.worldSize,
    of.settings.sharding,
    msOfTimes(of.tree().totals),
    of.tree().totals.forwardMs,
    of.tree().totals.backwardMs,
    of.tree().totals.optimizerMs,
    memoryError(of) === undefined ? of.peak()?.totalBytes : undefined,
  ];
  const columns = [
    "device",
    "allocationUnitBytes",
    "worldSize",
    "sharding",
    "stepMs",
    "forwardMs",
    "backwardMs",
    "optimizerMs",
    "peakBytes",
  ];
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
              "",
              plan.predicted.cost,
              undefined,
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
