import { isRecord, RematError } from "@remat/trace";
import { type PlanningGraph, planningGraph } from "./planning-graph.js";

const schema = "rematerialization-graph/1";
/** Limit on sums of bytes and costs, so that recomputation can be added without overflow. */
const mostTogether = 1e300;

/**
 * Returns the planning graph of a graph file, which has a `schema`, `nodes` with `bytes`, `cost` and an optional `name`,
 * and `edges` as pairs of node indices. Each node creates one value. An edge to another node means that the other
 * node reads the value.
 *
 * @throws RematError `GRAPH_FILE` with the node or edge, for negative, non-numeric or too large bytes or cost, an edge
 * to an unknown node, a duplicate edge, a cycle, or nodes that are not in topological order
 */
export function readGraphFile(file: unknown): PlanningGraph {
  if (!isRecord(file) || file["schema"] !== schema)
    throw fileError(
      `expected an object with schema '${schema}', found ${describe(isRecord(file) ? file["schema"] : file)}`,
    );
  const { nodes, edges } = file;
  if (!Array.isArray(nodes) || !Array.isArray(edges)) throw fileError("expected arrays 'nodes' and 'edges'");
  const names = nodes.map((node, v) => {
    if (!isRecord(node)) throw fileError(`node ${v}: expected an object, found ${describe(node)}`);
    const name = typeof node["name"] === "string" ? node["name"] : String(v);
    for (const field of ["bytes", "cost"]) {
      const value = node[field];
      if (!(typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY))
        throw fileError(`node ${v} ('${name}'): ${field} must be a number of at least 0; found ${describe(value)}`);
    }
    return name;
  });
  for (const field of ["bytes", "cost"]) {
    const together = nodes.reduce((sum: number, node) => sum + node[field], 0);
    if (together > mostTogether)
      throw fileError(`${field} of all nodes must add up to at most ${mostTogether}; found ${together}`);
  }
  const inputs: [number, number][][] = nodes.map(() => []);
  let misplaced: readonly [number, number] | undefined;
  for (const edge of edges) {
    const [from, to] = Array.isArray(edge) && edge.length === 2 ? edge : [undefined, undefined];
    for (const end of [from, to])
      if (!(Number.isInteger(end) && end >= 0 && end < nodes.length))
        throw fileError(`edge ${JSON.stringify(edge)}: unknown node. Nodes are 0 to ${nodes.length - 1}`);
    inputs[to].push([from, 0]);
    if (from >= to) misplaced ??= [from, to];
  }
  const repeated = findRepeated(inputs);
  if (repeated !== undefined) {
    const [from, to] = repeated;
    throw fileError(`edge [${from}, ${to}] ('${names[from]}' to '${names[to]}') is given twice. Remove one`);
  }
  if (misplaced !== undefined) throw orderError(inputs, names, misplaced);
  return planningGraph(
    nodes.map(({ bytes, cost }, v) => ({ name: names[v], cost, outputBytes: [bytes], inputs: inputs[v] })),
  );
}

/** Returns a duplicate edge. A set of all edges would be larger than the graph. */
function findRepeated(inputs: readonly (readonly (readonly [number, number])[])[]): [number, number] | undefined {
  const reader = new Int32Array(inputs.length).fill(-1);
  for (const [to, list] of inputs.entries())
    for (const [from] of list) {
      if (reader[from] === to) return [from, to];
      reader[from] = to;
    }
  return undefined;
}

/** Distinguishes a cycle from nodes that are only in the wrong order. */
function orderError(
  inputs: readonly (readonly [number, number])[][],
  names: readonly string[],
  [from, to]: readonly [number, number],
): RematError {
  const state = new Uint8Array(names.length); // 1: on the path, 2: done
  const next = new Int32Array(names.length);
  for (let root = 0; root < names.length; root++) {
    const path = state[root] === 0 ? [root] : [];
    while (path.length > 0) {
      const v = path[path.length - 1];
      state[v] = 1;
      if (next[v] === inputs[v].length) {
        state[v] = 2;
        path.pop();
        continue;
      }
      const input = inputs[v][next[v]++][0];
      if (state[input] === 1) {
        const cycle = path.slice(path.indexOf(input)).reverse();
        return fileError(`the graph has a cycle: ${[...cycle, cycle[0]].map((u) => `'${names[u]}'`).join(" → ")}`);
      }
      if (state[input] === 0) path.push(input);
    }
  }
  return fileError(
    `nodes are not in topological order: '${names[to]}' (${to}) reads '${names[from]}' (${from}), which comes after it. Sort the nodes`,
  );
}

function describe(value: unknown): string {
  return value === undefined ? "nothing" : typeof value === "number" ? String(value) : JSON.stringify(value);
}

function fileError(message: string): RematError {
  return new RematError("GRAPH_FILE", `graph file: ${message}`);
}
