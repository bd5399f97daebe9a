import { CheckpointedSteps, type CheckpointedUnit, tellsSaves } from "@remat/memory/checkpointing";
import type { Trace } from "@remat/trace";
import { checkpointedUnits } from "./checkpointed-units.js";
import { getOrInsert } from "./get-or-insert.js";
import { recordedForPlan } from "./recorded-dtype.js";
import { type CheckpointedModules, planError, type ShardingPlan } from "./sharding-plan.js";

/** What a plan is simulated on. */
export interface RunForPlan {
  readonly run: CheckpointedRun;
  /** As it is told of that run. */
  readonly plan: ShardingPlan;
  /** Why it is this run, where that may surprise. */
  readonly notes: readonly string[];
}

/**
 * A run without checkpointing as it would be with: what plans that checkpoint are simulated on. Made once for plans by the dozen, as it reads the run but once.
 */
export class CheckpointedRun {
  readonly trace: Trace;
  private steps: CheckpointedSteps | undefined;
  /** By what is checkpointed, as JSON. */
  private readonly known = new Map<string, Trace>();
  /** By dtype. */
  private readonly recorded = new Map<string, CheckpointedRun>();

  constructor(trace: Trace) {
    this.trace = trace;
  }

  /** The run that a plan is simulated on: the step as it was recorded in the plan's dtype, where it was and the plan can be told of that, else this run. */
  forPlan(given: ShardingPlan): RunForPlan {
    const recorded = recordedForPlan(this.trace, given);
    if (recorded === undefined) return { run: this, plan: given, notes: [] };
    if ("passedOver" in recorded) return { run: this, plan: recorded.plan, notes: [recorded.passedOver] };
    const { dtype, trace, plan } = recorded;
    return { run: getOrInsert(this.recorded, dtype, () => new CheckpointedRun(trace)), plan, notes: [] };
  }

  /**
   * The run under `checkpoint`.
   *
   * @throws RematError `SHARDING_PLAN` for modules that are not there or cannot run again, and for rules that save nothing there is; `TRACE_SAVES`, `TRACE_PHASE` and
   * `TRACE_RECOMPUTES` for a run that is not of a whole step of PyTorch without checkpointing
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
   * What checkpointing takes by itself in the run under `checkpoint`, in milliseconds, beside its ops; 0 where nobody knows how long the host takes.
   *
   * @throws as {@link under}
   */
  bookkeepingMs(checkpoint: readonly CheckpointedModules[] | undefined): number {
    if (checkpoint === undefined || checkpoint.length === 0) return 0;
    return this.stepsOfRun().bookkeepingMs(this.unitsOf(checkpoint));
  }

  /** What a unit saves, as {@link CheckpointedModules.save} has it: by name, or of a name of which some are not saved by ordinal. */
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
        "checkpoint= in a sharding plan is simulated on runs of PyTorch, whose traces say when autograd gives back what it saved. Of a run of TensorFlow.js remat compare --checkpoint tells what one device holds.",
      );
    this.steps ??= new CheckpointedSteps(this.trace);
    return this.steps;
  }

  /** The modules that are checkpointed, in the order in which they are named. @throws as {@link under} */
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
 * Refuses parts of modules where those are sharded: what runs again would find weights that are freed by then.
 *
 * @throws RematError `SHARDING_PLAN`
 */
export function refuseParts(checkpoint: readonly CheckpointedModules[] | undefined): void {
  const found = checkpoint?.find(({ parts }) => parts !== undefined);
  if (found !== undefined)
    throw planError(
      `of ${found.modules.map((name) => name || "the root").join(", ")} only parts are checkpointed, whose weights would be freed before they run again: expected modules as a whole. Plan with --whole-modules.`,
    );
}

function describe(units: readonly CheckpointedUnit[]): string {
  const selective = units.filter(({ saved }) => saved.length > 0).length;
  const names = units.map(({ fqn, ops }) => (ops === undefined ? fqn : `ops ${ops[0]} to ${ops[1] - 1} of ${fqn}`));
  const listed = names.length <= 3 ? names.join(", ") : `${names[0]} to ${names.at(-1)}, ${names.length} units`;
  return `Simulated as checkpointed: ${listed}${selective === 0 ? "" : `, ${selective} selectively`}.`;
}
