import type { ViewName } from "../app/key-map.js";
import type { View } from "../app/view.js";
import { comparisonView } from "./compare-view.js";
import { devicesView } from "./devices-view.js";
import { memoryView } from "./memory-view.js";
import { modulesView } from "./modules-view.js";
import { opsView } from "./ops-view.js";
import { tradeOffView } from "./trade-off-view.js";

/** The six views. */
export const viewsByName: Readonly<Record<ViewName, View>> = {
  modules: modulesView,
  ops: opsView,
  tradeOff: tradeOffView,
  memory: memoryView,
  compare: comparisonView,
  devices: devicesView,
};
