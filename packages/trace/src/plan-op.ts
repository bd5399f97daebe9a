import { formatOccurrence, type Occurrence } from "./occurrence.js";

/** A node of a graph file, as a plan identifies it. */
export interface PlanNode {
  readonly name: string;
  /** Indices of the nodes whose results it reads. */
  readonly inputs: readonly number[];
  /** Size of each of its outputs, in bytes. */
  readonly outputBytes: readonly number[];
  /** The cost, in the unit of the graph file. */
  readonly cost: number;
}

/**
 * An op in a plan: an op of a trace, or a node of a graph. All ops of a plan are of the same kind, given by its
 * subject.
 */
export type PlanOp = Occurrence | PlanNode;

/** Returns whether an op of a plan is a node of a graph, and not an op of a trace. */
export function isPlanNode(op: PlanOp): op is PlanNode {
  return "outputBytes" in op;
}

/**
 * Formats an op of a plan for people: an occurrence like {@link formatOccurrence}, a node with its name and its
 * outputs.
 *
 * @example
 * plan.steps.map(({ op }) => formatPlanOp(plan.ops[op]));
 */
export function formatPlanOp(op: PlanOp): string {
  if (!isPlanNode(op)) return formatOccurrence(op);
  return `${op.name} (${op.inputs.join(",")}): ${op.outputBytes.join(",")} bytes, cost ${op.cost}`;
}
