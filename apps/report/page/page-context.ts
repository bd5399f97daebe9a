import type { EngineMethods, Overview } from "./engine/answers.js";
import type { Store } from "./state.js";
import type { PlanFeed } from "./views/plan-feed.js";
import type { PolicyFeed } from "./views/policy-feed.js";

/** What every view is given. */
export interface PageContext {
  readonly engine: EngineMethods;
  readonly overview: Overview;
  readonly store: Store;
  readonly policies: PolicyFeed;
  /** The plan that is shown in place of the step as it was recorded. */
  readonly plan: PlanFeed;
}

/** Tells an op's name and module, for labels. */
export function describeOp({ ops, names, modules }: Overview, op: number): string {
  const module = ops.module[op];
  return `op ${op} ${names[ops.name[op]]}${module < 0 ? "" : ` in ${modules[module]}`}`;
}
