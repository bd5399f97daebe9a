import { formatOccurrence, isSameOccurrence, type Occurrence, type OpSignature } from "./occurrence.js";
import { opOccurrences } from "./op-occurrences.js";
import type { Plan } from "./plan.js";
import { formatPlanOp, isPlanNode, type PlanOp } from "./plan-op.js";
import type { FasterGradients, Trace } from "./trace.js";

/** The first difference between a run and a plan. */
export interface PlanMismatch {
  /** Index of the op. */
  readonly op: number;
  /** The planned op, or undefined if the plan has no more ops. */
  readonly planned: PlanOp | undefined;
  /** The op of the run. It is an `Occurrence` if the run is a trace, and undefined if the run has no more ops. */
  readonly found: OpSignature | undefined;
  /** The gradients of the plan and of the run, if they differ. Undefined stands for TensorFlow.js's own gradients. */
  readonly gradients?: { readonly planned: FasterGradients | undefined; readonly found: FasterGradients | undefined };
}

/**
 * Finds the first op where a plan does not match a trace. Returns undefined if it matches. Numbers in module names may
 * differ, because libraries number layers in the order in which a process creates them. Each planned name must always
 * correspond to the same name in the trace.
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

/** Maps module names of a plan to the names in a trace. */
class Renaming {
  private readonly found = new Map<string, string>();
  private readonly planned = new Map<string, string>();

  /** Returns a planned op with the module name of `other`, if that name can correspond to the planned name. */
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
 * Describes a mismatch as part of a sentence.
 *
 * @example
 * describePlanMismatch(mismatch); // "op 3 is planned as net.a[0] forward Relu 0: float32[8], found net.a[0] forward Tanh 0: float32[8]"
 */
export function describePlanMismatch({ op, planned, found, gradients }: PlanMismatch): string {
  const expected = planned === undefined ? "nothing" : formatPlanOp(planned);
  const why =
    gradients === undefined
      ? ""
      : ` (the plan is for a step with ${describeGradients(gradients.planned)}, and this step has ${describeGradients(gradients.found)})`;
  return `op ${op} is planned as ${expected}, found ${found === undefined ? "nothing" : formatOccurrence(found)}${why}`;
}

const describeGradients = (gradients: FasterGradients | undefined): string =>
  gradients === undefined ? "tfjs's own gradients" : "gradients that take fewer kernels";
