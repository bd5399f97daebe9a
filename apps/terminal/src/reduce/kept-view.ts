import { findModule } from "../document/find-module.js";
import { deviceChoices } from "../document/settings.js";
import { bodyArea } from "../screen/draw-screen.js";
import type { AppState } from "../state/app-state.js";
import type { Command } from "../state/command.js";
import type { SavedView } from "../state/opened.js";
import { sceneOf } from "../state/scene-of.js";
import type { View } from "../state/view.js";

/** Returns the state of a trace's views to save. */
export function keptView(views: readonly View[], { view, module, run, own }: AppState): SavedView {
  const chosen = run?.document.settings.device?.name;
  // A typed device or the default is not saved.
  const isChosen = chosen !== run?.opened.settings.device?.name;
  // A comparison does not use a device saved for one of its sides.
  const device = isChosen ? chosen : run?.other === undefined ? undefined : run.rememberedDevice;
  return {
    view,
    ...(module !== undefined && { module }),
    ...(device !== undefined && { device }),
    views: Object.fromEntries(views.flatMap((one) => (one.save ? [[one.name, one.save(own[one.name])]] : []))),
  };
}

/** Returns the commands that save this state, or none for a trace without a file. */
export function keepCommands(views: readonly View[], state: AppState): readonly Command[] {
  const { title, path } = state.run?.document.name ?? {};
  if (title === undefined || path === undefined) return [];
  return [{ kind: "saveView", path, title, saved: keptView(views, state) }];
}

/** Returns the state with the saved one restored, as far as it still fits. A requested device takes precedence. */
export function restoreView(views: readonly View[], state: AppState, saved: SavedView): AppState {
  const { run, wantedView, isDeviceAsked } = state;
  if (run === undefined) return state;
  const device = isDeviceAsked ? undefined : deviceChoices.find(({ name }) => name === saved.device);
  const isOther = device !== undefined && device.name !== run.document.settings.device?.name;
  const document = isOther ? run.document.with({ device }) : run.document;
  const view = views.find(({ name }) => name === saved.view)?.name;
  const restored: AppState = {
    ...state,
    run: { ...run, document, ...(isOther && { rememberedDevice: device.name }) },
    view: wantedView ?? view ?? state.view,
    module: findModule(document.tree(), saved.module)?.fqn ?? state.module,
  };
  const scene = sceneOf(restored, bodyArea(views, restored));
  const kept: Readonly<Record<string, unknown>> =
    typeof saved.views === "object" && saved.views !== null ? saved.views : {};
  return {
    ...restored,
    own: Object.fromEntries(
      views.map((one): [string, unknown] => {
        const own = state.own[one.name];
        const has = one.restore !== undefined && Object.hasOwn(kept, one.name);
        return [one.name, has ? one.restore?.(scene, own, kept[one.name]) : own];
      }),
    ),
  };
}
