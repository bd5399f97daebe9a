import type { EngineMethods, Overview } from "./engine/answers.js";
import type { Store } from "./state.js";
import type { PlanFeed } from "./views/plan-feed.js";
import type { PolicyFeed } from "./views/policy-feed.js";

/** The context of every view. */
export interface PageContext {
  readonly engine: EngineMethods;
  readonly overview: Overview;
  readonly store: Store;
  readonly policies: PolicyFeed;
  /** The plan that is shown instead of the recorded step. */
  readonly plan: PlanFeed;
}

/** Returns an op's name and module, for labels. */
export function describeOp({ ops, names, modules }: Overview, op: number): string {
  const module = ops.module[op];
  return `op ${op} ${names[ops.name[op]]}${module < 0 ? "" : ` in ${modules[module]}`}`;
}
