import { formatOccurrence, isSameOccurrence, type Occurrence, type OpSignature } from "./occurrence.js";
import { opOccurrences } from "./op-occurrences.js";
import type { Plan } from "./plan.js";
import { formatPlanOp, isPlanNode, type PlanOp } from "./plan-op.js";
import type { FasterGradients, Trace } from "./trace.js";

/** Where a run first is not as planned. */
export interface PlanMismatch {
  /** Index of the op. */
  readonly op: number;
  /** That op in the plan; undefined where the plan has no more ops. */
  readonly planned: PlanOp | undefined;
  /** That op of the run, an `Occurrence` if the run is a trace; undefined where there are no more. */
  readonly found: OpSignature | undefined;
  /** Where the two have not the same gradients in place of tfjs's own: those of the plan and of the run; undefined for tfjs's. */
  readonly gradients?: { readonly planned: FasterGradients | undefined; readonly found: FasterGradients | undefined };
}

/**
 * Finds where a plan first does not fit a trace; undefined where it fits. Modules may be numbered otherwise, each always alike, as those are that a library names in the order in which a process
 * makes them.
 *
 * @example
 * const mismatch = findPlanMismatch(plan, trace);
 * if (mismatch) throw new Error(describePlanMismatch(mismatch));
 */
export function findPlanMismatch(plan: Plan, trace: Trace): PlanMismatch | undefined {
  const found = opOccurrences(trace);
  const count = Math.max(found.length, plan.ops.length);
  const names = new Renaming();
  for (let op = 0; op < count; op++) {
    const planned = plan.ops[op];
    const isAsPlanned =
      op < found.length &&
      op < plan.ops.length &&
      !isPlanNode(planned) &&
      isSameOccurrence(names.of(planned, found[op]), found[op]);
    if (!isAsPlanned) return { op, planned, found: found[op], ...otherGradients(plan, trace) };
  }
  return undefined;
}

/** What modules of a plan are called in a trace. */
class Renaming {
  private readonly found = new Map<string, string>();
  private readonly planned = new Map<string, string>();

  /** Returns a planned op as it is called where it is found to be `other`. */
  of(planned: Occurrence, other: Occurrence): Occurrence {
    const [from, to] = [planned.module, other.module];
    if (from === undefined || to === undefined) return planned;
    if (!this.found.has(from) && !this.planned.has(to) && unnumbered(from) === unnumbered(to)) {
      this.found.set(from, to);
      this.planned.set(to, from);
    }
    return from === to || this.found.get(from) !== to ? planned : { ...planned, module: to };
  }
}

const unnumbered = (name: string): string => name.replaceAll(/\d+/g, "");

function otherGradients(
  { subject: { fasterGradients: planned } }: Plan,
  { header: { fasterGradients: found } }: Trace,
): Pick<PlanMismatch, "gradients"> {
  return planned === found ? {} : { gradients: { planned, found } };
}

/**
 * Tells a mismatch as part of a sentence.
 *
 * @example
 * describePlanMismatch(mismatch); // "op 3 is planned as net.a[0] forward Relu 0: float32[8], found net.a[0] forward Tanh 0: float32[8]"
 */
export function describePlanMismatch({ op, planned, found, gradients }: PlanMismatch): string {
  const expected = planned === undefined ? "nothing" : formatPlanOp(planned);
  const why =
    gradients === undefined
      ? ""
      : ` (the plan is of a step with ${describeGradients(gradients.planned)}, this is one with ${describeGradients(gradients.found)})`;
  return `op ${op} is planned as ${expected}, found ${found === undefined ? "nothing" : formatOccurrence(found)}${why}`;
}

const describeGradients = (gradients: FasterGradients | undefined): string =>
  gradients === undefined ? "tfjs's own gradients" : "gradients that take fewer kernels";
