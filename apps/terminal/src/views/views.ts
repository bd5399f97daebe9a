import type { View } from "../state/view.js";
import { compareView } from "./compare-view.js";
import { devicesView } from "./devices-view.js";
import { heldView } from "./held-view.js";
import { leaksView } from "./leaks-view.js";
import { memoryView } from "./memory-view.js";
import { modulesView } from "./modules-view.js";
import { opsView } from "./ops-view.js";
import { tradeOffView } from "./trade-off-view.js";
import { whatIfView } from "./what-if-view.js";

/** The views, in the order of their tabs and keys. A view consists of its file and its line here. */
export const views: readonly View[] = [
  heldView,
  modulesView,
  opsView,
  tradeOffView,
  memoryView,
  compareView,
  devicesView,
  leaksView,
  whatIfView,
];

/** The name of a view in {@link views}. */
export type ViewName = string;

/** Names of the views, in the order of their keys. */
export const viewNames: readonly ViewName[] = views.map(({ name }) => name);
