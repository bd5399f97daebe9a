import { byId } from "./dom.js";
import type { EngineMethods, Overview } from "./engine/answers.js";
import { mountBar } from "./interaction/bar.js";
import { followHash } from "./interaction/follow-hash.js";
import { followLinks } from "./interaction/follow-links.js";
import { addCsvButtons } from "./interaction/table-csv.js";
import { hideTooltip } from "./interaction/tooltip.js";
import type { PageContext } from "./page-context.js";
import { initialState, readHash, Store } from "./state.js";
import { followTheme } from "./theme.js";
import { mountExplorer } from "./views/explorer.js";
import { mountHeld } from "./views/held-view.js";
import { mountOpsTable } from "./views/ops-table.js";
import { PlanFeed } from "./views/plan-feed.js";
import { PolicyFeed } from "./views/policy-feed.js";
import { mountTimeline } from "./views/timeline.js";
import { mountTradeOff } from "./views/trade-off.js";

/** Adds the views to the page. From then on they communicate through the store. */
export function startPage(engine: EngineMethods, overview: Overview, app: HTMLElement): void {
  const store = new Store({ ...initialState, ...readHash(location.hash) });
  const context: PageContext = {
    engine,
    overview,
    store,
    policies: new PolicyFeed(overview.ops.count),
    plan: new PlanFeed(engine, overview.meta, store),
  };
  followTheme(store);
  followHash(store);
  followLinks(store, document.body);
  store.follow((_state, changed) => {
    // The target of the tooltip has moved.
    if (changed.has("from") || changed.has("to") || changed.has("root")) hideTooltip();
  });
  mountBar(context, byId("bar"));
  addCsvButtons(byId("summary"), overview.meta.title);
  if (overview.bands !== undefined) {
    // Memory comes first, costs after it.
    byId("summary").before(mountTimeline(context, overview.bands), mountHeld(context));
  }
  // Inference keeps nothing that could be recomputed.
  if (overview.header.step?.predict !== true) app.append(mountTradeOff(context));
  app.append(mountExplorer(context), mountOpsTable(context));
}
