import type { PlanningGraph } from "../graph/planning-graph.js";

/** Per step of a sequence the values that nothing reads after it before their node runs again; results of the last run stay. @internal */
export function valuesGoneAfter(graph: PlanningGraph, sequence: ArrayLike<number>): number[][] {
  const { inputs, outputs, result, valueCount } = graph;
  const gone: number[][] = Array.from({ length: sequence.length }, () => []);
  const lastRead = new Int32Array(valueCount).fill(-1);
  for (let step = 0; step < sequence.length; step++) {
    const v = sequence[step];
    for (let i = inputs.start[v]; i < inputs.start[v + 1]; i++) lastRead[inputs.values[i]] = step;
    for (let i = outputs.start[v]; i < outputs.start[v + 1]; i++) {
      const value = outputs.values[i];
      if (lastRead[value] >= 0) gone[lastRead[value]].push(value);
      lastRead[value] = step;
    }
  }
  for (let value = 0; value < valueCount; value++)
    if (result[value] === 0 && lastRead[value] >= 0) gone[lastRead[value]].push(value);
  for (const values of gone) values.sort((a, b) => a - b);
  return gone;
}
