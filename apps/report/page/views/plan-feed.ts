import { chooseWithin, type PlanWithin } from "@remat/reporting";
import type { FollowedPlan, ReportMeta } from "../../src/data/report-meta.js";
import type { EngineMethods, PlanAnswer } from "../engine/answers.js";
import { latest } from "../latest.js";
import type { PageState, Store } from "../state.js";

/** The plan that is shown, and the step's memory under it. */
export interface ShownPlan {
  /** Index in `meta.followed`, or -1 if the step is shown as recorded. */
  readonly index: number;
  readonly plan: FollowedPlan | undefined;
  readonly answer: PlanAnswer | undefined;
  /**
   * For each op: the highest memory without recomputation, with everything freed after its last use; known after a plan
   * has been shown.
   */
  readonly freedEarly: Float64Array | undefined;
}

type Listener = (shown: ShownPlan) => void;

const nothing: ShownPlan = { index: -1, plan: undefined, answer: undefined, freedEarly: undefined };

/** Returns the choice for the budget of a state, or undefined if there is no budget or nothing was planned. */
export function budgetOf({ budget }: PageState, { plans }: ReportMeta): PlanWithin<FollowedPlan> | undefined {
  return budget < 0 || plans === undefined ? undefined : chooseWithin(plans.front, budget);
}

/** Returns the plan that a state shows, as an index of `meta.followed`, or -1 for none. */
function shownPlanOf(state: PageState, meta: ReportMeta): number {
  if (state.plan === "recorded") return -1;
  const { followed, plans } = meta;
  const given = followed.findIndex(({ name }) => name !== "");
  if (state.plan === "given" || state.budget < 0) return given;
  // A step that is within the budget anyway needs no plan.
  if (plans === undefined || state.budget >= plans.recordedPeakBytes) return -1;
  const point = budgetOf(state, meta)?.point;
  return point === undefined ? -1 : plans.front.indexOf(point);
}

/** Requests the plan that the state selects, and passes its memory to all views. */
export class PlanFeed {
  private readonly listeners: Listener[] = [];
  private current: ShownPlan = nothing;

  constructor(engine: EngineMethods, meta: ReportMeta, store: Store) {
    const ask = latest();
    store.follow((state) => {
      const index = shownPlanOf(state, meta);
      if (index === this.wanted) return;
      this.wanted = index;
      if (index < 0)
        ask(
          async () => undefined,
          () => this.tell(nothing),
        );
      else
        ask(
          async () => [await engine.plan(index), await this.freedEarly(engine, meta)] as const,
          ([answer, freedEarly]) => this.tell({ index, plan: meta.followed[index], answer, freedEarly }),
        );
    });
  }

  private wanted = -1;

  private free: Promise<Float64Array | undefined> | undefined;

  private freedEarly(engine: EngineMethods, meta: ReportMeta): Promise<Float64Array | undefined> {
    const index = meta.followed.findIndex(({ name, recomputations }) => name === "" && recomputations === 0);
    this.free ??= index < 0 ? Promise.resolve(undefined) : engine.plan(index).then(({ bands }) => bands?.highestBytes);
    return this.free;
  }

  get shown(): ShownPlan {
    return this.current;
  }

  /** Calls `listener` now and whenever another plan is shown. */
  follow(listener: Listener): void {
    this.listeners.push(listener);
    listener(this.current);
  }

  private tell(shown: ShownPlan): void {
    this.current = shown;
    for (const listener of this.listeners) listener(shown);
  }
}
