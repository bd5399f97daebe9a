import type { Plan, PlanValue, Rows } from "@remat/trace";

/** What a plan has done after each op, in columns. @internal */
export interface PlanScript {
  /** The ops with which forward and backward passes begin. */
  readonly passes: Int32Array;
  /** By step, in order: the op, and 1 where it is recomputed. */
  readonly op: Int32Array;
  readonly isRecomputed: Uint8Array;
  /** By step, what is freed after it: a value, or, as `~source`, what JavaScript has made. */
  readonly freed: Rows;
  /** By step, the values that are offloaded after it, and then those that are reloaded: as `~value` for the last time. */
  readonly offloaded: Rows;
  readonly reloaded: Rows;
  /** By op, the values that are its outputs: those that a step frees or moves, one after the other, with their place among the outputs. */
  readonly values: Rows;
  /** By op, what JavaScript has made since the one before it; and how many bytes each has. */
  readonly sources: Rows;
  readonly sourceBytes: Float64Array;
}

/** @internal */
export function scriptOfPlan(plan: Plan): PlanScript {
  const { steps, sources } = plan;
  const opCount = plan.ops.length;
  const values = freedOutputs(plan, opCount);
  return {
    passes: plan.passes === undefined ? passStarts(plan) : Int32Array.from(plan.passes),
    op: Int32Array.from(steps, ({ op }) => op),
    isRecomputed: Uint8Array.from(steps, ({ isRecomputed }) => (isRecomputed ? 1 : 0)),
    freed: rowsOf(steps.map(({ free }) => free.map((value) => valueId(value, values)))),
    offloaded: rowsOf(steps.map(({ offload = [] }) => offload.map((value) => valueId(value, values)))),
    reloaded: reloads(steps, values),
    values,
    sources: rowsOfKeys(
      sources.map(({ before }) => before),
      opCount,
    ),
    sourceBytes: Float64Array.from(sources, ({ bytes }) => bytes),
  };
}

/** Where nothing marks passes, each begins with a run of ops of the forward pass. */
function passStarts({ ops }: Plan): Int32Array {
  const isForward = ops.map((op) => "phase" in op && op.phase === "forward");
  return Int32Array.from(ops.keys()).filter((op) => isForward[op] && !isForward[op - 1]);
}

function freedOutputs({ steps }: Plan, opCount: number): Rows {
  const byOp = new Map<number, Set<number>>();
  for (const { free, offload = [], reload = [] } of steps)
    for (const value of [...free, ...offload, ...reload]) {
      if ("source" in value) continue;
      const outputs = byOp.get(value.op);
      if (outputs === undefined) byOp.set(value.op, new Set([value.output]));
      else outputs.add(value.output);
    }
  return rowsOf(Array.from({ length: opCount }, (_, op) => [...(byOp.get(op) ?? [])]));
}

function reloads(steps: Plan["steps"], values: Rows): Rows {
  const isReloadedLater = new Set<number>();
  const backwards = steps.toReversed().map(({ reload = [] }) => {
    const ids = reload.map((value) => valueId(value, values));
    const row = ids.map((id) => (isReloadedLater.has(id) ? id : ~id));
    for (const id of ids) isReloadedLater.add(id);
    return row;
  });
  return rowsOf(backwards.toReversed());
}

function valueId(value: PlanValue, { start, values }: Rows): number {
  if ("source" in value) return ~value.source;
  let id = start[value.op];
  while (values[id] !== value.output) id++;
  return id;
}

function rowsOf(lists: readonly (readonly number[])[]): Rows {
  const start = new Int32Array(lists.length + 1);
  lists.forEach((list, i) => (start[i + 1] = start[i] + list.length));
  return { start, values: Int32Array.from(lists.flat()) };
}

/** By key, which of `keys` are it, in order. */
function rowsOfKeys(keys: readonly number[], count: number): Rows {
  const lists = Array.from({ length: count + 1 }, (): number[] => []);
  keys.forEach((key, i) => lists[key].push(i));
  return rowsOf(lists);
}
