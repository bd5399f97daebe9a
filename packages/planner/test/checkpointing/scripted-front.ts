import { vi } from "vitest";
import { helpedNodes } from "../../src/blocks/quick-starts.js";
import { type FrontOptions, ScheduleFront } from "../../src/checkpointing/schedule-front.js";
import { type SearchEffort, SharedEffort } from "../../src/checkpointing/search-effort.js";
import { type PlanningGraph, planningGraph } from "../../src/graph/planning-graph.js";
import type { Rematerialization, RematerializeOptions } from "../../src/rematerialize.js";

/** Layers and their backward pass. Without recomputation, all forward results are alive at the peak. */
export function chain(length: number, bytes: number): PlanningGraph {
  return planningGraph(
    Array.from({ length: 2 * length }, (_, v) => ({
      name: `n${v}`,
      cost: 1,
      outputBytes: [bytes],
      inputs: [...(v === 0 ? [] : [[v - 1, 0] as const]), ...(v > length ? [[2 * length - 1 - v, 0] as const] : [])],
    })),
  );
}
/** Three layers. Without recomputation the peak is 4,000 bytes. */
export const graph = chain(3, 1000);
/** A graph that is large enough for plans of blocks. */
export const long = chain(helpedNodes / 2, 1000);

export type Found = Partial<
  Pick<Rematerialization, "peakBytes" | "overhead" | "lowerBound" | "isProvenInfeasible" | "iterations">
>;

export interface Scripted {
  readonly of?: PlanningGraph;
  readonly effort?: SearchEffort;
  readonly workers?: number;
  readonly options?: FrontOptions;
  /** Results of the searches, one after the other. Further searches find the plain order. */
  readonly found?: Found[];
}

/** Returns a front whose searches are recorded and have the given results. */
export async function scripted({
  of = graph,
  effort = { iterations: 1000 },
  workers = 1,
  options,
  found = [],
}: Scripted = {}) {
  const batches: RematerializeOptions[][] = [];
  const front: ScheduleFront = await ScheduleFront.begin(
    {
      graph: of,
      runner: {
        workers,
        run: async (tasks) => {
          batches.push([...tasks]);
          return tasks.map(({ budgetBytes }) => {
            const { overhead = 0, ...rest } = found.shift() ?? {};
            const { plain } = front;
            return { ...plain, cost: plain.cost * (1 + overhead), overhead, budgetBytes, ...rest };
          });
        },
      },
      effort: new SharedEffort(effort, 10, performance.now(), 0),
      began: performance.now(),
    },
    { order: "fixed", seed: 0, ...options },
  );
  return { front, batches, budgets: () => batches.map((tasks) => tasks.map(({ budgetBytes }) => budgetBytes)) };
}

/** Stops the clock. Tests advance it. */
export function stopClock(): { ms: number } {
  const clock = { ms: 1000 };
  vi.spyOn(performance, "now").mockImplementation(() => clock.ms);
  return clock;
}
