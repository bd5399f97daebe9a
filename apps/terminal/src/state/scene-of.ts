import { RematError } from "@remat/trace";
import type { AppState } from "./app-state.js";
import type { Area, Scene, View } from "./view.js";

/**
 * Returns the app as a view sees it, with the available space.
 *
 * @throws RematError `TERMINAL_NO_DOCUMENT`
 */
export function sceneOf({ run, module, plan, device, prompt, searched, look }: AppState, area: Area): Scene {
  if (run === undefined) throw new RematError("TERMINAL_NO_DOCUMENT", "no trace is open. Open a trace first.");
  const { document } = run;
  return {
    run,
    document,
    module,
    plan,
    device,
    searched: prompt?.kind === "search" ? prompt.text : searched,
    area,
    look,
  };
}

/** Returns the current view: the first if the state does not name an existing one. */
export function viewOf(views: readonly View[], { view }: AppState): View {
  return views.find(({ name }) => name === view) ?? views[0];
}
