import { type ExportFormat, writeViewTable } from "@remat/reporting";
import { writePlan } from "@remat/trace";
import { planTable } from "../screen/plan-screen.js";
import type { App } from "./app.js";

/** Writes what the view shows to a file, and says where. */
export function exportView(app: App, format: ExportFormat): void {
  const { plan, screen } = app.state;
  if (screen === "plan" && plan !== undefined)
    return writeFile(app, `${fileNameOf(plan.subject.name)}-plan.${format}`, writeViewTable(planTable(plan), format));
  const { view } = app;
  const name = `${fileNameOf(app.document.name.title)}-${fileNameOf(view.title)}.${format}`;
  writeFile(app, name, writeViewTable(view.table(app), format));
}

/** Writes the plan of view 6 to a file, and says where. */
export function savePlan(app: App): void {
  const plan = app.state.devices.point?.plan ?? app.state.plan;
  if (plan === undefined) app.tell("There is no plan yet. Press p to make one.", "warning");
  else writeFile(app, `${fileNameOf(plan.subject.name)}.plan.json`, writePlan(plan));
}

/** Puts the name of what is at the cursor on the clipboard. */
export function copyName(app: App): void {
  const text = app.view.copied?.(app);
  if (text === undefined) return app.tell("There is nothing here to copy.", "warning");
  app.host.copy(text);
  app.tell(`copied: ${text}`);
}

function writeFile(app: App, name: string, text: string): void {
  try {
    app.tell(`written: ${app.host.writeFile(name, text)}`);
  } catch (error) {
    app.tell(`cannot write ${name}: ${(error as Error).message}`, "warning");
  }
}

/** A name that every file system takes. */
function fileNameOf(text: string): string {
  const name = text
    .replace(/[^\w.-]+/g, "-")
    .replace(/^[-.]+|-+$/g, "")
    .slice(0, 60);
  return name === "" ? "remat" : name.toLowerCase();
}
