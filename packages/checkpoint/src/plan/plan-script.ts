import { type Plan, type PlanValue, type Rows, rowsOf } from "@remat/trace";

/** The actions of a plan after each op, in columns. @internal */
export interface PlanScript {
  /** First ops of the forward and backward passes. */
  readonly passes: Int32Array;
  /** Op of each step, in order. */
  readonly op: Int32Array;
  /** 1 for each step that recomputes its op. */
  readonly isRecomputed: Uint8Array;
  /** Data freed after each step: a value, or `~source` for data that JavaScript made. */
  readonly freed: Rows;
  /** Values offloaded after each step. */
  readonly offloaded: Rows;
  /** Values reloaded after each step, after the offloads. `~value` marks the last reload. */
  readonly reloaded: Rows;
  /**
   * For each op, its outputs that a step frees or moves. The position in the list is the id of the value, and the entry
   * is its output index.
   */
  readonly values: Rows;
  /** Sources that JavaScript made since the previous op, for each op. */
  readonly sources: Rows;
  /** Size of each source in bytes. */
  readonly sourceBytes: Float64Array;
}

/** Converts a plan to columns. @internal */
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

/** If the plan marks no passes, each run of forward ops begins one. */
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

/** Groups the indices of `keys` by key, in order. */
function rowsOfKeys(keys: readonly number[], count: number): Rows {
  const lists = Array.from({ length: count + 1 }, (): number[] => []);
  keys.forEach((key, i) => lists[key].push(i));
  return rowsOf(lists);
}
