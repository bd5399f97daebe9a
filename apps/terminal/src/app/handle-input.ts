import { exportFormats } from "@remat/reporting";
import type { InputEvent } from "../terminal/read-input.js";
import type { ClickTarget } from "../text/drawn.js";
import { act, moveStart, openSelected } from "./act.js";
import type { App } from "./app.js";
import { bindingOf, viewNames } from "./key-map.js";
import { promptKey } from "./prompt.js";
import { exportView } from "./write-out.js";

/** A key, a click on what was drawn, or a turn of the wheel. */
export function handleInput(app: App, event: InputEvent, clicked: ClickTarget | undefined): void {
  if (event.kind === "key") handleKey(app, event.key);
  else if (app.state.help !== undefined || app.state.prompt !== undefined) return;
  else if (event.kind === "wheel") turnWheel(app, event.steps);
  else if (clicked !== undefined) click(app, clicked);
}

function handleKey(app: App, key: string): void {
  const { state } = app;
  state.notice = undefined;
  if (key === "ctrl+c") return app.quit();
  if (state.prompt !== undefined) return promptKey(app, key);
  if (state.exporting) return chooseFormat(app, key);
  if (state.help !== undefined) return handleHelpKey(app, key);
  const action = bindingOf(key, state.view)?.action;
  if (action === undefined) return;
  if (action !== "showView") act(app, action);
  else if (app.hasDocument && state.screen === "views") state.view = viewNames[Number(key) - 1];
}

function handleHelpKey(app: App, key: string): void {
  const { help, view } = app.state;
  const action = bindingOf(key, view)?.action;
  if (help === undefined) return;
  if (action === "down") help.top++;
  else if (action === "up") help.top = Math.max(0, help.top - 1);
  else if (action === "pageDown") help.top += app.page;
  else if (action === "pageUp") help.top = Math.max(0, help.top - app.page);
  else if (action === "redraw") app.host.redraw();
  else app.state.help = undefined;
}

function chooseFormat(app: App, key: string): void {
  app.state.exporting = false;
  const format = exportFormats.find((name) => name[0] === key);
  if (format !== undefined) exportView(app, format);
}

function turnWheel(app: App, steps: 1 | -1): void {
  if (app.state.screen !== "views") act(app, steps < 0 ? "up" : "down");
  else if (app.view.wheel) app.view.wheel(app, steps);
  else app.view.move?.(app, 3 * steps);
}

function click(app: App, target: ClickTarget): void {
  const { state } = app;
  state.notice = undefined;
  if (state.screen === "start") {
    if (target.kind !== "row") return;
    if (state.start.cursor === target.index) openSelected(app);
    else moveStart(app, target.index - state.start.cursor);
  } else if (state.screen === "plan") {
    if (target.kind === "row") state.planSteps.cursor = target.index;
  } else if (target.kind === "view") state.view = viewNames[target.number];
  else app.view.click?.(app, target);
}
