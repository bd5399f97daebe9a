import { CheckpointedSteps, type CheckpointedUnit, tellsSaves } from "@remat/memory/checkpointing";
import type { Trace } from "@remat/trace";
import { checkpointedUnits } from "./checkpointed-units.js";
import { getOrInsert } from "./get-or-insert.js";
import { recordedForPlan } from "./recorded-dtype.js";
import { type CheckpointedModules, planError, type ShardingPlan } from "./sharding-plan.js";

/** The run on which a plan is simulated. */
export interface RunForPlan {
  readonly run: CheckpointedRun;
  /** The plan in the form that fits the run. */
  readonly plan: ShardingPlan;
  /** Explains the choice of this run, if it may surprise. */
  readonly notes: readonly string[];
}

/**
 * Simulates activation checkpointing on a run that was recorded without it.
 *
 * Create one instance and use it for many plans, because it reads the run only once.
 */
export class CheckpointedRun {
  readonly trace: Trace;
  private steps: CheckpointedSteps | undefined;
  /** The checkpointed runs, by their checkpoint setting as JSON. */
  private readonly known = new Map<string, Trace>();
  /** The runs recorded in other dtypes, by dtype. */
  private readonly recorded = new Map<string, CheckpointedRun>();

  constructor(trace: Trace) {
    this.trace = trace;
  }

  /**
   * Returns the run on which a plan is simulated: the recording of the step in the plan's dtype, if it exists and the
   * plan applies to it. Otherwise returns this run.
   */
  forPlan(given: ShardingPlan): RunForPlan {
    const recorded = recordedForPlan(this.trace, given);
    if (recorded === undefined) return { run: this, plan: given, notes: [] };
    if ("passedOver" in recorded) return { run: this, plan: recorded.plan, notes: [recorded.passedOver] };
    const { dtype, trace, plan } = recorded;
    return { run: getOrInsert(this.recorded, dtype, () => new CheckpointedRun(trace)), plan, notes: [] };
  }

  /**
   * Returns the run under `checkpoint`.
   *
   * @throws RematError `SHARDING_PLAN` for modules that do not exist or cannot run again, and for rules that match no
   * op; `TRACE_SAVES`, `TRACE_PHASE` and `TRACE_RECOMPUTES` for a run that is not a whole PyTorch step without
   * checkpointing
   */
  under(checkpoint: readonly CheckpointedModules[] | undefined): Trace {
    if (checkpoint === undefined || checkpoint.length === 0) return this.trace;
    const key = JSON.stringify(checkpoint);
    let run = this.known.get(key);
    if (run === undefined) {
      const units = this.unitsOf(checkpoint);
      run = this.stepsOfRun().under(units, describe(units));
      this.known.set(key, run);
    }
    return run;
  }

  /**
   * Returns the overhead of checkpointing in the run under `checkpoint`, without the recomputed ops, in milliseconds.
   * Returns 0 if the host's times are unknown.
   *
   * @throws as {@link under}
   */
  bookkeepingMs(checkpoint: readonly CheckpointedModules[] | undefined): number {
    if (checkpoint === undefined || checkpoint.length === 0) return 0;
    return this.stepsOfRun().bookkeepingMs(this.unitsOf(checkpoint));
  }

  /**
   * Returns the ops that a unit saves, in the form of {@link CheckpointedModules.save}. An op is listed by name, or, if
   * other ops of that name are not saved, by name and ordinal.
   */
  savedNames({ fqn, saved }: CheckpointedUnit): readonly string[] {
    const { units } = this.stepsOfRun();
    const names = units.opsOf[units.callsOf.get(fqn)![0]].map((op) => this.trace.opName(op));
    const isSaved = new Set(saved);
    const found = saved.map((place) => {
      const name = names[place];
      if (names.every((other, i) => other !== name || isSaved.has(i))) return name;
      return `${name}#${names.slice(0, place).filter((other) => other === name).length}`;
    });
    return [...new Set(found)];
  }

  private stepsOfRun(): CheckpointedSteps {
    if (!tellsSaves(this.trace) && this.trace.header.framework !== "pytorch")
      throw planError(
        "checkpoint= in a sharding plan is supported for PyTorch runs only. For one device of a TensorFlow.js run use remat compare --checkpoint.",
      );
    this.steps ??= new CheckpointedSteps(this.trace);
    return this.steps;
  }

  /**
   * Returns the modules that are checkpointed, in the order in which they are named.
   *
   * @throws as {@link under}
   */
  unitsOf(checkpoint: readonly CheckpointedModules[]): readonly CheckpointedUnit[] {
    const { units } = this.stepsOfRun();
    return checkpointedUnits(this.trace, checkpoint, {
      opsOf: (fqn) => {
        const calls = units.callsOf.get(fqn);
        return calls === undefined ? undefined : units.opsOf[calls[0]];
      },
      refusalOf: (fqn) => units.refused.get(fqn),
      partRefusalOf: (fqn, ops) =>
        (units.callsOf.get(fqn) ?? [])
          .map((call) => units.partOf(call, ...ops))
          .find((part): part is string => typeof part === "string"),
    });
  }
}

/**
 * Rejects checkpointed parts of modules in a sharded model, because the weights would be freed before the parts run
 * again.
 *
 * @throws RematError `SHARDING_PLAN`
 */
export function refuseParts(checkpoint: readonly CheckpointedModules[] | undefined): void {
  const found = checkpoint?.find(({ parts }) => parts !== undefined);
  if (found !== undefined)
    throw planError(
      `only parts of ${found.modules.map((name) => name || "the root").join(", ")} are checkpointed, and FSDP would free their weights before recomputation. Plan with --whole-modules.`,
    );
}

function describe(units: readonly CheckpointedUnit[]): string {
  const selective = units.filter(({ saved }) => saved.length > 0).length;
  const names = units.map(({ fqn, ops }) => (ops === undefined ? fqn : `ops ${ops[0]} to ${ops[1] - 1} of ${fqn}`));
  const listed = names.length <= 3 ? names.join(", ") : `${names[0]} to ${names.at(-1)}, ${names.length} units`;
  return `Simulated as checkpointed: ${listed}${selective === 0 ? "" : `, ${selective} selectively`}.`;
}
