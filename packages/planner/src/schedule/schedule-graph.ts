import { transposeRows } from "@remat/trace";
import type { PlanningGraph } from "../graph/planning-graph.js";

/**
 * A planning graph with an additional last node `end` that reads the results, creates no values and costs nothing.
 * @internal
 */
export interface ScheduleGraph {
  readonly end: number;
  readonly cost: Float64Array;
  /** Bytes of a node's outputs and workspace, which are in use while it runs in addition to its inputs. */
  readonly ownBytes: Float64Array;
  readonly workspaceBytes: Float64Array;
  readonly inputStart: Int32Array;
  readonly inputValues: Int32Array;
  readonly outputStart: Int32Array;
  readonly outputValues: Int32Array;
  readonly consumerStart: Int32Array;
  readonly consumerValues: Int32Array;
}

/** Adds the node `end` to a planning graph. @internal */
export function scheduleGraph(graph: PlanningGraph): ScheduleGraph {
  const { nodeCount, valueCount, bytes, result } = graph;
  const results: number[] = [];
  for (let w = 0; w < valueCount; w++) if (result[w] === 1) results.push(w);
  const inputs = withRow(graph.inputs, results);
  const outputs = withRow(graph.outputs, []);
  const consumers = transposeRows(inputs, valueCount);
  const cost = new Float64Array(nodeCount + 1);
  cost.set(graph.cost);
  const workspaceBytes = new Float64Array(nodeCount + 1);
  workspaceBytes.set(graph.workspaceBytes);
  const ownBytes = workspaceBytes.slice();
  for (let v = 0; v < nodeCount; v++)
    for (let i = outputs.start[v]; i < outputs.start[v + 1]; i++) ownBytes[v] += bytes[outputs.values[i]];
  return {
    end: nodeCount,
    cost,
    ownBytes,
    workspaceBytes,
    inputStart: inputs.start,
    inputValues: inputs.values,
    outputStart: outputs.start,
    outputValues: outputs.values,
    consumerStart: consumers.start,
    consumerValues: consumers.values,
  };
}

function withRow(rows: { readonly start: Int32Array; readonly values: Int32Array }, last: readonly number[]) {
  const start = new Int32Array(rows.start.length + 1);
  start.set(rows.start);
  start[rows.start.length] = rows.values.length + last.length;
  const values = new Int32Array(rows.values.length + last.length);
  values.set(rows.values);
  values.set(last, rows.values.length);
  return { start, values };
}
