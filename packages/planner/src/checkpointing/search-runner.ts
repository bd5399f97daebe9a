import type { PlanningGraph } from "../graph/planning-graph.js";
import { type Rematerialization, type RematerializeOptions, rematerialize } from "../rematerialize.js";

/**
 * Runs searches on one graph, one after the other or several at once. Results are in the order of the tasks. The result
 * of a failed search is undefined. @internal
 */
export interface SearchRunner {
  readonly workers: number;
  run(tasks: readonly RematerializeOptions[]): Promise<(Rematerialization | undefined)[]>;
}

/** Returns a runner that runs searches one after the other. @internal */
export function runInTurn(graph: PlanningGraph): SearchRunner {
  return {
    workers: 1,
    async run(tasks) {
      const found: Rematerialization[] = [];
      for (const task of tasks) found.push(await rematerialize(graph, task));
      return found;
    },
  };
}
