import { deviceChoices } from "../document/settings.js";
import type { TraceDocument } from "../document/trace-document.js";
import type { App } from "./app.js";
import type { SavedView } from "./host.js";
import { type ViewName, viewNames } from "./key-map.js";

/** What is worth keeping of a trace's views. */
export function savedViewOf({ state, selectedModule, document }: App): SavedView {
  const { view, modules, ops, tradeOff, devices } = state;
  return {
    view,
    ...(selectedModule !== undefined && { module: selectedModule }),
    ...(modules.sort !== undefined && { moduleSort: modules.sort }),
    ...(ops.sort !== undefined && { opSort: ops.sort }),
    budgetShare: tradeOff.budgetShare,
    stepBudgetShare: devices.budgetShare,
    ...(document.settings.device !== undefined && { device: document.settings.device }),
  };
}

/** Brings back what was kept, as far as it still fits; the document under the settings that were kept. */
export function restoreView(app: App, saved: SavedView, wanted: ViewName | undefined): TraceDocument {
  const { state } = app;
  const view = viewNames.find((name) => name === saved.view);
  if (view !== undefined && wanted === undefined) state.view = view;
  if (saved.module !== undefined) app.selectModule(saved.module);
  const moduleColumns = ["name", "memoryBytes", "savedBytes", "runtimeMs", "forwardMs", "backwardMs", "calls"] as const;
  state.modules.sort = sortOf(moduleColumns, saved.moduleSort);
  const opColumns = ["op", "name", "runtimeMs", "memoryBytes", "msps", "marks", "module"] as const;
  state.ops.sort = sortOf(opColumns, saved.opSort);
  state.tradeOff.budgetShare = shareOf(saved.budgetShare, state.tradeOff.budgetShare);
  state.devices.budgetShare = shareOf(saved.stepBudgetShare, state.devices.budgetShare);
  const { document } = app;
  return saved.device !== undefined && deviceChoices.includes(saved.device) && saved.device !== document.settings.device
    ? document.with({ device: saved.device })
    : document;
}

function sortOf<Column extends string>(
  columns: readonly Column[],
  saved: { readonly column: string; readonly descending: boolean } | undefined,
): { readonly column: Column; readonly descending: boolean } | undefined {
  const column = columns.find((name) => name === saved?.column);
  return column === undefined ? undefined : { column, descending: saved?.descending === true };
}

function shareOf(saved: unknown, otherwise: number): number {
  return typeof saved === "number" && saved >= 0 && saved <= 1 ? saved : otherwise;
}
