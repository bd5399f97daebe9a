import type { App } from "./app.js";
import { type ActionName, viewNames } from "./key-map.js";
import { repeatSearch } from "./prompt.js";
import { copyName } from "./write-out.js";

/** Does what a key of the key map does, in the view or on the screen that is on. */
export function act(app: App, action: ActionName): void {
  if (app.state.screen === "start") return actOnStart(app, action);
  if (app.state.screen === "plan") return actOnPlan(app, action);
  const own = app.view.actions[action];
  const by = rowsBy(app, action);
  if (own !== undefined) own(app);
  else if (by !== undefined) app.view.move?.(app, by);
  else actions[action]?.(app);
}

/** What is the same in every view. */
const actions: Partial<Record<ActionName, (app: App) => void>> = {
  nextView: (app) => turn(app, 1),
  previousView: (app) => turn(app, -1),
  search(app) {
    app.state.prompt = { kind: "search", text: "", matches: [], chosen: 0, total: 0 };
  },
  nextMatch: (app) => repeatSearch(app, 1),
  previousMatch: (app) => repeatSearch(app, -1),
  help(app) {
    app.state.help = { top: 0 };
  },
  export(app) {
    app.state.exporting = true;
  },
  copy: copyName,
  theme(app) {
    app.state.theme = app.state.theme === "dark" ? "light" : "dark";
    app.host.saveTheme(app.state.theme);
    app.tell(`colours for a ${app.state.theme} background`);
  },
  open(app) {
    app.state.screen = "start";
  },
  redraw: (app) => app.host.redraw(),
  suspend: (app) => app.host.suspend(),
  quit: (app) => app.quit(),
};

/** What works on any screen. */
const anywhere: readonly ActionName[] = ["help", "theme", "redraw", "suspend", "quit"];

function actOnStart(app: App, action: ActionName): void {
  const by = rowsBy(app, action);
  if (by !== undefined) moveStart(app, by);
  else if (action === "enter" || action === "right") openSelected(app);
  else if (action === "back") {
    if (!app.cancelOpening() && app.hasDocument) app.state.screen = "views";
  } else if (action === "open" || action === "search")
    app.state.prompt = { kind: "open", text: "", matches: [], chosen: 0, total: 0 };
  else if (anywhere.includes(action)) actions[action]?.(app);
}

function actOnPlan(app: App, action: ActionName): void {
  const { planSteps } = app.state;
  const by = rowsBy(app, action);
  if (by !== undefined) planSteps.cursor = Math.max(0, planSteps.cursor + by);
  else if (action === "back") app.state.screen = "start";
  else if ([...anywhere, "open", "export"].includes(action)) actions[action]?.(app);
}

/** How far an action moves a cursor over rows. */
function rowsBy({ page }: App, action: ActionName): number | undefined {
  const steps: Partial<Record<ActionName, number>> = {
    up: -1,
    down: 1,
    pageUp: -page,
    pageDown: page,
    top: Number.NEGATIVE_INFINITY,
    bottom: Number.MAX_SAFE_INTEGER,
  };
  return steps[action];
}

/** Moves the cursor of the start screen. */
export function moveStart(app: App, by: number): void {
  const { start } = app.state;
  start.cursor = Math.max(0, Math.min(app.host.startEntries().length - 1, start.cursor + by));
}

/** Opens what is chosen on the start screen. */
export function openSelected(app: App): void {
  const entry = app.host.startEntries()[app.state.start.cursor];
  if (entry !== undefined && app.state.start.loading === undefined) void app.open(entry.target);
}

function turn(app: App, by: 1 | -1): void {
  const at = viewNames.indexOf(app.state.view) + by + viewNames.length;
  app.state.view = viewNames[at % viewNames.length];
}
