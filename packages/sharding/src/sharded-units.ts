import { Phase, type Trace } from "@remat/trace";
import { matchModules } from "./match-modules.js";
import { type GroupPolicy, planError, type ShardingPlan } from "./sharding-plan.js";

/** One call of `fully_shard`. */
export interface ShardedUnit {
  /** The numbers of the modules that are sharded together, lowest first. */
  readonly modules: readonly number[];
  readonly policy: GroupPolicy;
}

/**
 * Returns the calls of `fully_shard` for a plan, beginning with the root's. If several calls name a module, the last
 * one counts.
 *
 * @throws RematError `SHARDING_PLAN` for a pattern that matches no module, for a module that is both in a group of
 * several and named by itself, or for a module inside another module of its group
 */
export function shardedUnits(
  trace: Trace,
  plan: ShardingPlan & { readonly wrap: readonly string[] },
  root: number,
): readonly ShardedUnit[] {
  const { groups = [] } = plan;
  const own: GroupPolicy = policyWith(plan, {});
  const byModule = new Map<number, ShardedUnit>([[root, { modules: [root], policy: own }]]);
  const put = (modules: readonly number[], policy: GroupPolicy): void => {
    const unit = { modules, policy };
    for (const module of modules) {
      const known = byModule.get(module);
      if (known !== undefined && (known.modules.length > 1 || modules.length > 1)) {
        const others = known.modules.length > 1 ? known.modules : modules;
        throw planError(
          `${trace.modules[module].fqn} is in two groups: with ${namesOf(trace, others, module)}, and in another. Name it in one of them.`,
        );
      }
      byModule.set(module, unit);
    }
  };
  for (const module of matchModules(trace, root, plan.wrap)) if (module !== root) put([module], withoutOutput(own));
  // A pattern only stands for modules that no group takes, but a plain name always means its module.
  const byName = new Set(
    matchModules(
      trace,
      root,
      plan.wrap.filter((pattern) => !/[*?[]/.test(pattern)),
    ),
  );
  for (const { modules: patterns, together = false, ...policy } of groups) {
    const modules = matchModules(
      trace,
      root,
      patterns.filter((pattern) => pattern !== ""),
    );
    if (patterns.includes("")) {
      put([root], policyWith(own, policy));
      continue;
    }
    const merged = policyWith(withoutOutput(own), policy);
    if (together) {
      const sorted = [...modules].sort((a, b) => a - b);
      refuseNested(trace, sorted);
      for (const module of sorted)
        if (byModule.get(module)?.modules.length === 1 && !byName.has(module)) byModule.delete(module);
      put(sorted, merged);
    } else for (const module of modules) put([module], merged);
  }
  return [...new Set(byModule.values())].sort((a, b) =>
    a.modules[0] === root ? -1 : b.modules[0] === root ? 1 : a.modules[0] - b.modules[0],
  );
}

/**
 * Rejects a group with a module and another module inside it, because `fully_shard` would silently leave out the inner
 * one.
 */
function refuseNested(trace: Trace, modules: readonly number[]): void {
  const names = modules.map((module) => trace.modules[module].fqn);
  for (const outer of names) {
    const inner = names.find((name) => name.startsWith(`${outer}.`));
    if (inner !== undefined)
      throw planError(
        `${inner} is inside ${outer}, so one group cannot name both. Give it its own group, or remove it.`,
      );
  }
}

function policyWith({ reshardAfterForward, mixedPrecision }: GroupPolicy, policy: GroupPolicy): GroupPolicy {
  const merged = {
    reshardAfterForward: policy.reshardAfterForward ?? reshardAfterForward,
    mixedPrecision: policy.mixedPrecision ? { ...mixedPrecision, ...policy.mixedPrecision } : mixedPrecision,
  };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined));
}

/** Returns a policy without `output`, which applies only to the root if it is in the plan's own policy. */
function withoutOutput({ mixedPrecision, ...policy }: GroupPolicy): GroupPolicy {
  if (mixedPrecision === undefined) return policy;
  const { output: _output, ...casts } = mixedPrecision;
  return { ...policy, mixedPrecision: casts };
}

function namesOf(trace: Trace, modules: readonly number[], but: number): string {
  return modules
    .filter((module) => module !== but)
    .map((module) => trace.modules[module].fqn)
    .join(", ");
}

/**
 * Returns the modules that run first and last in each unit. FSDP casts the inputs of the first module and the outputs
 * of the last one.
 */
export function endsOfUnits(
  trace: Trace,
  units: readonly ShardedUnit[],
): { readonly first: ReadonlySet<number>; readonly last: ReadonlySet<number> } {
  const { call, phase, count } = trace.moduleEvents;
  const unitOf = new Map(units.flatMap((unit) => unit.modules.map((module) => [module, unit] as const)));
  const ran = new Map<ShardedUnit, Set<number>>(units.map((unit) => [unit, new Set()]));
  for (let i = 0; i < count; i++) {
    const module = trace.calls.module[call[i]];
    const unit = unitOf.get(module);
    if (unit !== undefined && phase[i] === Phase.forward) ran.get(unit)!.add(module);
  }
  const inOrder = units.map((unit) => [...(ran.get(unit)!.size === 0 ? unit.modules : ran.get(unit)!)]);
  return {
    first: new Set(inOrder.map(([module]) => module)),
    last: new Set(inOrder.map((modules) => modules[modules.length - 1])),
  };
}
