import type { ModulePolicy } from "@remat/planner/module-policy";
import { greedyPolicy, type PolicyView, policyOf, type TradeOffView, viewTradeOff } from "@remat/reporting";
import { rememberLast } from "./memoize.js";
import type { ModuleTradeOff } from "./trace-document.js";

/** A module's curve, and the policies for a budget. */
export interface ModulePolicies {
  readonly of: ModuleTradeOff;
  readonly budgetBytes: number;
  readonly view: TradeOffView;
  readonly greedy: PolicyView;
  /** Present if the optimal one has been found. */
  readonly optimal: { readonly policy: PolicyView; readonly found: ModulePolicy } | undefined;
}

const curveOf = rememberLast(({ tradeOff }: ModuleTradeOff) => viewTradeOff(tradeOff, 1000));
const greedyFor = rememberLast(({ stats, order }: ModuleTradeOff, bytes: number) => greedyPolicy(stats, order, bytes));
const optimalFor = rememberLast((found: ModulePolicy, { stats, order }: ModuleTradeOff, bytes: number) => ({
  policy: policyOf(stats, order, bytes, found.isStored),
  found,
}));

/** Converts a share of the memory that a module could free to bytes. */
export function budgetBytesOf({ tradeOff }: ModuleTradeOff, budgetShare: number): number {
  return Math.ceil(budgetShare * tradeOff.sacMemoryBytes);
}

/** Returns the policies of a module under a budget. `found` is the optimal one. */
export function policiesOf(of: ModuleTradeOff, budgetBytes: number, found: ModulePolicy | undefined): ModulePolicies {
  return {
    of,
    budgetBytes,
    view: curveOf(of),
    greedy: greedyFor(of, budgetBytes),
    optimal: found && optimalFor(found, of, budgetBytes),
  };
}
