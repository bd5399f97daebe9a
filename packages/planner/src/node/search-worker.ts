// The script of a worker thread: it searches on the one graph that it was started with.
import { parentPort, workerData } from "node:worker_threads";
import { RematError } from "@remat/trace";
import type { PlanningGraph } from "../graph/planning-graph.js";
import { type RematerializeOptions, rematerialize } from "../rematerialize.js";
import type { SearchAnswer, SearchOrder } from "./search-messages.js";

const graph: PlanningGraph = { ...(workerData as Omit<PlanningGraph, "nodeName">), nodeName: (v) => `node ${v}` };
const running = new Map<number, AbortController>();

function answer(message: SearchAnswer): void {
  parentPort!.postMessage(message);
}

async function search(id: number, options: RematerializeOptions, isFollowed: boolean): Promise<void> {
  const controller = new AbortController();
  running.set(id, controller);
  try {
    const found = await rematerialize(graph, {
      ...options,
      signal: controller.signal,
      ...(isFollowed && { onProgress: (progress) => answer({ id, progress }) }),
    });
    answer({ id, found });
  } catch (error) {
    const code = error instanceof RematError ? error.code : undefined;
    answer({ id, failure: { message: error instanceof Error ? error.message : String(error), code } });
  } finally {
    running.delete(id);
  }
}

parentPort!.on("message", (order: SearchOrder) => {
  if ("options" in order) void search(order.id, order.options, order.isFollowed);
  else running.get(order.id)?.abort();
});
