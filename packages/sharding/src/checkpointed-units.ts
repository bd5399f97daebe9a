import { type CheckpointedUnit, standsInside } from "@remat/memory/checkpointing";
import type { OpIndex, Trace } from "@remat/trace";
import { matchModules, rootModule } from "./match-modules.js";
import { modulesInScope } from "./remat-scope.js";
import { policiesByName, savedPlaces } from "./save-rules.js";
import { type CheckpointedModules, planError } from "./sharding-plan.js";
import { usualWrap } from "./usual-wrap.js";

/** The ops of a run's modules, and whether each module can be recomputed. */
export interface RunningModules {
  /** Returns the forward ops of a call of the module, or undefined if it does not run. */
  opsOf(fqn: string): readonly number[] | undefined;
  /** Returns the reason why a module cannot run again, or undefined if it can. */
  refusalOf?(fqn: string): string | undefined;
  /**
   * Returns the reason why a part of a module cannot run again, or undefined if it can. `ops` contains the positions of
   * the start and the end of the part, and of the ops in between whose results are kept. The function is left out if
   * parts cannot be checkpointed at all.
   */
  partRefusalOf?(fqn: string, ops: readonly [begin: number, end: number, kept?: readonly number[]]): string | undefined;
}

/**
 * Returns the modules that are checkpointed and the ops that each saves, in the order in which they are named.
 *
 * @throws RematError `SHARDING_PLAN` for modules that do not exist, do not run or cannot run again, and for rules that
 * match no op
 */
export function checkpointedUnits(
  trace: Trace,
  checkpoint: readonly CheckpointedModules[],
  running: RunningModules,
): readonly CheckpointedUnit[] {
  const root = rootModule(trace);
  const found = new Map<string, CheckpointedUnit>();
  for (const { modules, save = [], scope, parts } of checkpoint) {
    const missing = new Set(scope === undefined ? save : []);
    const named =
      scope === undefined
        ? matchModules(trace, root, modules.length === 0 ? usualWrap(trace) : modules, policiesByName)
        : modulesInScope(trace, scope, (fqn) => running.opsOf(fqn));
    for (const module of named) {
      const { fqn } = trace.modules[module];
      const ops = running.opsOf(fqn);
      // A list of modules, such as `layers` itself, does not run.
      if (ops === undefined)
        throw planError(`${fqn} does not run, so it cannot be checkpointed. Name modules that run.`);
      if (parts !== undefined) {
        for (const unit of partsOf(fqn, parts, running)) found.set(`${fqn}[${unit.ops!.join(":")}]`, unit);
        continue;
      }
      const reason = running.refusalOf?.(fqn);
      if (reason !== undefined) {
        // A scope means only the modules that can be checkpointed.
        if (scope !== undefined) continue;
        throw planError(`${fqn} cannot be checkpointed: ${reason}. Remove it from the plan.`);
      }
      const saved = savedPlaces(trace, ops, save);
      for (const rule of missing) if (savedPlaces(trace, ops, [rule]).length > 0) missing.delete(rule);
      // A layer without activations stays as it is.
      if (scope?.mode === "activations" && saved.length === ops.length) continue;
      if (save.length > 0 && saved.length === 0 && scope === undefined && !save.includes("nothing_saveable"))
        throw planError(`${save.join("+")} saves nothing in ${fqn}. Choose among its ops: ${opsIn(trace, ops)}.`);
      found.set(fqn, { fqn, saved });
    }
    const unknown = [...missing].find((rule) => !policiesByName.includes(rule));
    if (unknown !== undefined && named.length > 0)
      throw planError(
        `save=${unknown} is not an op of ${named
          .slice(0, 3)
          .map((module) => trace.modules[module].fqn)
          .join(
            ", ",
          )}. Remove it, or choose among its ops: ${opsIn(trace, running.opsOf(trace.modules[named[0]].fqn) ?? [])}.`,
      );
  }
  return withoutInner([...found.values()]);
}

/**
 * Removes units inside a module that saves some of its ops. The policy of that module also decides about the inner ops,
 * so checkpointing inner modules has no effect.
 */
function withoutInner(units: readonly CheckpointedUnit[]): readonly CheckpointedUnit[] {
  const selective = units.filter(({ saved }) => saved.length > 0);
  return units.filter(({ fqn }) => !selective.some((around) => standsInside(fqn, around.fqn)));
}

function partsOf(
  fqn: string,
  parts: NonNullable<CheckpointedModules["parts"]>,
  { partRefusalOf }: RunningModules,
): readonly CheckpointedUnit[] {
  return parts.map((ops) => {
    const reason = partRefusalOf === undefined ? "parts are supported for PyTorch only" : partRefusalOf(fqn, ops);
    if (reason !== undefined)
      throw planError(`the part [${ops.join(", ")}] of ${fqn} cannot be recomputed: ${reason}. Plan this run again.`);
    return { fqn, saved: [], ops };
  });
}

function opsIn(trace: Trace, ops: readonly OpIndex[]): string {
  return [...new Set(ops.map((op) => trace.opName(op)))].slice(0, 6).join(", ");
}
