import type { PlanningGraph } from "../graph/planning-graph.js";

/** Bytes held at every step of a sequence that can run. @internal */
export function memoryOf(graph: PlanningGraph, sequence: ArrayLike<number>): Float64Array {
  const { inputs, outputs, bytes, workspaceBytes, result, valueCount, baseBytes } = graph;
  const { length } = sequence;
  const change = new Float64Array(length + 1);
  const madeAt = new Int32Array(valueCount).fill(-1);
  const lastRead = new Int32Array(valueCount);
  const close = (w: number, until: number) => {
    if (madeAt[w] < 0) return;
    change[madeAt[w]] += bytes[w];
    change[until + 1] -= bytes[w];
  };
  for (let step = 0; step < length; step++) {
    const v = sequence[step];
    for (let i = inputs.start[v]; i < inputs.start[v + 1]; i++) lastRead[inputs.values[i]] = step;
    for (let i = outputs.start[v]; i < outputs.start[v + 1]; i++) {
      const w = outputs.values[i];
      close(w, lastRead[w]);
      madeAt[w] = step;
      lastRead[w] = step;
    }
  }
  for (let w = 0; w < valueCount; w++) close(w, result[w] === 1 ? length - 1 : lastRead[w]);
  const memory = new Float64Array(length);
  let held = baseBytes;
  for (let step = 0; step < length; step++) {
    held += change[step];
    memory[step] = held + workspaceBytes[sequence[step]];
  }
  return memory;
}
