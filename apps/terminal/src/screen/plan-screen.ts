import type { ViewTable } from "@remat/reporting";
import { formatPlanOp, type Plan, type PlanStep } from "@remat/trace";
import { planFacts } from "../drawing/plan-facts.js";
import type { AppState } from "../state/app-state.js";
import type { Area } from "../state/view.js";
import { drawTable, type TableColumn } from "../table/draw-table.js";
import { windowRows } from "../table/window-rows.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { fitLine, type Line } from "../text/line.js";

/** Returns how many steps of a plan fit on the screen. */
export function planRoom(state: AppState, plan: Plan, { width, height }: Area): number {
  return Math.max(1, height - factsOf(state, plan, width).length - 2);
}

function factsOf({ look, device, isDeviceAsked, planFrom }: AppState, plan: Plan, width: number): readonly Line[] {
  return planFacts(plan, width, look.glyphs, {
    // The plan of a program does not record its device.
    ...((isDeviceAsked || plan.subject.step !== undefined) && { device }),
    following: planFrom?.following,
  });
}

/** Draws a plan alone, without its trace: its predictions and its steps. */
export function drawPlan(state: AppState, plan: Plan, area: Area): Drawn {
  const { glyphs } = state.look;
  const { cursor, top } = state.planSteps;
  const { width } = area;
  const facts = factsOf(state, plan, width);
  const count = plan.steps.length;
  const window = windowRows({ count, height: planRoom(state, plan, area), cursor, top });
  const columns: readonly TableColumn<number>[] = [
    { key: "step", title: "Step", width: 7, align: "right", cell: (index) => String(index) },
    {
      key: "run",
      title: "",
      width: 9,
      cell: (index) => [plan.steps[index].isRecomputed ? { text: "recompute", style: "warning" } : { text: "run" }],
    },
    { key: "op", title: "Op", width: 24, grow: 1, cell: (index) => formatPlanOp(plan.ops[plan.steps[index].op]) },
    {
      key: "free",
      title: "Frees",
      width: 16,
      cell: (index) => [{ text: freed(plan.steps[index]), style: "faint" }],
    },
  ];
  return stack(
    textOnly(...facts.map((line) => fitLine(line, width, glyphs)), []),
    drawTable<number>({ columns, width, glyphs, count, window, row: (index) => index }),
  );
}

/** Returns the steps as a table. */
export function planTable(plan: Plan): ViewTable {
  return {
    title: `Plan of ${plan.subject.name}`,
    columns: ["step", "isRecomputed", "op", "free"],
    rows: plan.steps.map((step, index) => [index, step.isRecomputed, formatPlanOp(plan.ops[step.op]), freed(step)]),
  };
}

function freed({ free }: PlanStep): string {
  return free.map((value) => ("source" in value ? `source ${value.source}` : `${value.op}:${value.output}`)).join(" ");
}
