import { formatOccurrence, type Occurrence } from "./occurrence.js";

/** A node of a graph file as a plan names it. */
export interface PlanNode {
  readonly name: string;
  /** The nodes that make what it reads, by index. */
  readonly inputs: readonly number[];
  /** Of each of its outputs, in bytes. */
  readonly outputBytes: readonly number[];
  /** In the unit of the graph file. */
  readonly cost: number;
}

/** What a plan runs: an op of a trace, or a node of a graph. All ops of a plan are of one kind, which its subject tells. */
export type PlanOp = Occurrence | PlanNode;

/** Tells a node of a graph from an op of a trace. */
export function isPlanNode(op: PlanOp): op is PlanNode {
  return "outputBytes" in op;
}

/**
 * Writes an op of a plan for a person to read: an occurrence as {@link formatOccurrence} does, or a node by its name and what it makes.
 *
 * @example
 * plan.steps.map(({ op }) => formatPlanOp(plan.ops[op]));
 */
export function formatPlanOp(op: PlanOp): string {
  if (!isPlanNode(op)) return formatOccurrence(op);
  return `${op.name} (${op.inputs.join(",")}): ${op.outputBytes.join(",")} bytes, cost ${op.cost}`;
}
