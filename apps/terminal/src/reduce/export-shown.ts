import { writeViewTable } from "@remat/reporting";
import { planTable } from "../screen/plan-screen.js";
import type { Step } from "../state/action.js";
import type { AppState } from "../state/app-state.js";
import { fileNameOf } from "../state/file-name.js";
import { viewOf } from "../state/scene-of.js";
import type { View } from "../state/view.js";
import { sceneFor } from "./reduce-view.js";
import { run } from "./step.js";

/** Writes the content of the screen to a file. */
export function exportShown(views: readonly View[], state: AppState, format: string): Step {
  const { plan, screen } = state;
  if (screen === "plan" && plan !== undefined) {
    const name = `${fileNameOf(plan.subject.name)}-plan.${format}`;
    return run(state, { kind: "writeFile", name, text: writeViewTable(planTable(plan), format) });
  }
  const view = viewOf(views, state);
  const scene = sceneFor(views, state);
  const name = `${fileNameOf(scene.document.name.title)}-${fileNameOf(view.title)}.${format}`;
  return run(state, {
    kind: "writeFile",
    name,
    text: writeViewTable(view.table(scene, state.own[view.name]), format),
  });
}
