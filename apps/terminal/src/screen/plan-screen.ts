import type { ViewTable } from "@remat/reporting";
import type { Plan, PlanStep } from "@remat/trace";
import type { App } from "../app/app.js";
import type { Area } from "../app/view.js";
import { drawTable, type TableColumn } from "../table/draw-table.js";
import { windowRows } from "../table/window-rows.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { fitLine } from "../text/line.js";
import { planFacts } from "../views/plan-facts.js";

/** A plan by itself, without the trace that it is for: what it promises, and its steps. */
export function drawPlan(app: App, plan: Plan, { width, height }: Area): Drawn {
  const { glyphs } = app;
  const place = app.state.planSteps;
  const facts = planFacts(plan, width, glyphs);
  const room = Math.max(1, height - facts.length - 2);
  const window = windowRows({ count: plan.steps.length, height: room, cursor: place.cursor, top: place.top });
  place.cursor = Math.max(0, window.cursor);
  place.top = window.top;
  const columns: readonly TableColumn<number>[] = [
    { key: "step", title: "Step", width: 7, align: "right", cell: (index) => String(index) },
    {
      key: "run",
      title: "",
      width: 5,
      cell: (index) => [plan.steps[index].isAgain ? { text: "again", style: "warning" } : { text: "run" }],
    },
    { key: "op", title: "Op", width: 24, grow: 1, cell: (index) => plan.ops[plan.steps[index].op] },
    {
      key: "drop",
      title: "Lets go of",
      width: 16,
      grow: 1,
      cell: (index) => [{ text: dropped(plan.steps[index]), style: "faint" }],
    },
  ];
  return stack(
    textOnly(...facts.map((line) => fitLine(line, width, glyphs)), []),
    drawTable<number>({ columns, width, glyphs, count: plan.steps.length, window, row: (index) => index }),
  );
}

/** The steps as a table. */
export function planTable(plan: Plan): ViewTable {
  return {
    title: `Plan of ${plan.subject.name}`,
    columns: ["step", "isAgain", "op", "drop"],
    rows: plan.steps.map((step, index) => [index, step.isAgain, plan.ops[step.op], dropped(step)]),
  };
}

function dropped({ drop }: PlanStep): string {
  return drop.map((value) => ("source" in value ? `source ${value.source}` : `${value.op}:${value.output}`)).join(" ");
}
