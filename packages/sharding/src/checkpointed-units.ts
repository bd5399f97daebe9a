import { type CheckpointedUnit, standsInside } from "@remat/memory/checkpointing";
import type { OpIndex, Trace } from "@remat/trace";
import { matchModules, rootModule } from "./match-modules.js";
import { modulesInScope } from "./remat-scope.js";
import { policiesByName, savedPlaces } from "./save-rules.js";
import { type CheckpointedModules, planError } from "./sharding-plan.js";
import { usualWrap } from "./usual-wrap.js";

/** What can be asked of the modules of a run by who simulates them as checkpointed. */
export interface RunningModules {
  /** Returns the forward ops of a call of the module, or undefined where it does not run. */
  opsOf(fqn: string): readonly number[] | undefined;
  /** Returns why a module cannot run again, or undefined where it can. */
  refusalOf?(fqn: string): string | undefined;
  /** Returns why a part of a module cannot run again, or undefined where it can; left out where nothing runs parts again. */
  partRefusalOf?(fqn: string, ops: readonly [begin: number, end: number, kept?: readonly number[]]): string | undefined;
}

/**
 * Returns the modules that are checkpointed with what each saves, in the order in which they are named.
 *
 * @throws RematError `SHARDING_PLAN` for modules that are not there, do not run or cannot run again, and for rules that save nothing there is
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
      // A list of modules (`layers` itself) is no module that runs.
      if (ops === undefined)
        throw planError(`${fqn} does not run, so it cannot be checkpointed: name modules that do.`);
      if (parts !== undefined) {
        for (const unit of partsOf(fqn, parts, running)) found.set(`${fqn}[${unit.ops!.join(":")}]`, unit);
        continue;
      }
      const reason = running.refusalOf?.(fqn);
      if (reason !== undefined) {
        // Who names a scope means what can be.
        if (scope !== undefined) continue;
        throw planError(`${fqn} cannot be checkpointed: ${reason}.`);
      }
      const saved = savedPlaces(trace, ops, save);
      for (const rule of missing) if (savedPlaces(trace, ops, [rule]).length > 0) missing.delete(rule);
      // A layer without activations is as it was.
      if (scope?.mode === "activations" && saved.length === ops.length) continue;
      if (save.length > 0 && saved.length === 0 && scope === undefined && !save.includes("nothing_saveable"))
        throw planError(`nothing of ${fqn} is saved by ${save.join("+")}: its ops are ${opsIn(trace, ops)}.`);
      found.set(fqn, { fqn, saved });
    }
    const unknown = [...missing].find((rule) => !policiesByName.includes(rule));
    if (unknown !== undefined && named.length > 0)
      throw planError(
        `save=${unknown} is no op of ${named
          .slice(0, 3)
          .map((module) => trace.modules[module].fqn)
          .join(", ")}: their ops are ${opsIn(trace, running.opsOf(trace.modules[named[0]].fqn) ?? [])}. Leave it out.`,
      );
  }
  return withoutInner([...found.values()]);
}

/** Of what is inside a module that saves some of its ops those are saved all the same, whatever else is checkpointed there: the outer policy sees them run. */
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
    const reason = partRefusalOf === undefined ? "parts are of policies for PyTorch" : partRefusalOf(fqn, ops);
    if (reason !== undefined) throw planError(`the part [${ops.join(", ")}] of ${fqn} cannot run again: ${reason}.`);
    return { fqn, saved: [], ops };
  });
}

function opsIn(trace: Trace, ops: readonly OpIndex[]): string {
  return [...new Set(ops.map((op) => trace.opName(op)))].slice(0, 12).join(", ");
}
