import { bytesOfBudget } from "@remat/memory";
import {
  type BudgetedSchedule,
  planOfGraph,
  type Rematerialization,
  type ScheduleAnswer,
  simulateSchedule,
  workingSet,
} from "@remat/planner";
import { type PlanningGraph, readGraphFile, withLink } from "@remat/planner/graph";
import { planSchedules } from "@remat/planner/node";
import type { FrontPoint, GraphPlanSummary, InfeasibleBudget, PlanFront } from "@remat/reporting/documents";
import { type Plan, RematError, row } from "@remat/trace";
import type { ConsoleIo } from "../console-io.js";
import { importerOf, type ModelSource } from "../model-source.js";
import type { Progress } from "../progress.js";
import { interruptible } from "./interruptible.js";
import type { PlanOptions } from "./plan-options.js";
import { interruptedEarly } from "./refuse.js";
import { showProgress } from "./show-progress.js";

/** A graph file's schedule, or why there is none. */
export type GraphAnswer =
  | {
      readonly summary: GraphPlanSummary;
      /** Slow for a large graph. */
      readonly plan: () => Plan;
      readonly notes: readonly string[];
    }
  | { readonly infeasible: InfeasibleBudget; readonly inOrderPeakBytes: number };

/** Writing a graph's plan takes this many times as long as reading the graph. */
const writingPerReading = 1.5;

/**
 * Plans a graph file: level 3 of the planner.
 *
 * @param began start of reading the file, since the time limit covers everything
 */
export async function planGraphFile(
  source: ModelSource<"graph">,
  began: number,
  options: PlanOptions,
  io: ConsoleIo,
  progress: Progress,
): Promise<GraphAnswer> {
  const { path } = source;
  const file = importerOf(source).read(path);
  const graph = readNamed(file, path);
  const name = typeof file["name"] === "string" ? file["name"] : path;
  if (graph.nodeCount === 0)
    throw new RematError(
      "GRAPH_FILE",
      `${path}: the graph has no nodes, so there is nothing to plan. Export it again.`,
    );
  const { timeMs, iterations, seed, order, paretoPoints, maxOverhead, workers, linkBytesPerSecond } = options;
  const inOrder = simulateSchedule(
    graph,
    Int32Array.from({ length: graph.nodeCount }, (_, v) => v),
  )!;
  const referenceBytes = statedPeakBytes(file) ?? inOrder.peakBytes;
  if (referenceBytes === 0)
    throw new RematError(
      "GRAPH_FILE",
      `${path}: every node has 0 bytes, so no memory can be freed. Set each node's 'bytes' to the size of its output.`,
    );
  const notes: string[] = [];
  if (referenceBytes !== inOrder.peakBytes)
    notes.push(
      `the file states a peak of ${referenceBytes} bytes in the given order, but its nodes need ${inOrder.peakBytes}`,
    );
  const budgetBytes = options.budget === undefined ? undefined : bytesOfBudget(options.budget, referenceBytes);
  progress.show(`planning ${name}`, true);
  const readMs = performance.now() - began;
  const writeMs = options.output === undefined ? 0 : writingPerReading * readMs;
  const { found, isInterrupted } = await interruptible(io, (signal) =>
    planSchedules(linkBytesPerSecond === undefined ? graph : withLink(graph, linkBytesPerSecond / 1000), {
      ...(budgetBytes !== undefined
        ? { budgetBytes }
        : maxOverhead !== undefined
          ? { maxOverhead }
          : { budgetFraction: 1 }),
      timeMs: timeMs === undefined ? undefined : Math.max(0, timeMs - readMs - writeMs),
      iterations,
      seed,
      order,
      paretoPoints,
      workers,
      signal,
      onProgress: showProgress(progress, name, inOrder.cost),
    }),
  );
  if (linkBytesPerSecond !== undefined)
    notes.push("costs are in milliseconds, and transfers take the time of the link");
  if (isInterrupted) notes.push("interrupted: this is the best schedule found so far");
  if (found.point === undefined) {
    const infeasible = infeasibleGraph(graph, name, budgetBytes ?? 0, found, order);
    if (isInterrupted && infeasible.lowerBoundBytes <= infeasible.budgetBytes) throw interruptedEarly(infeasible);
    return { infeasible, inOrderPeakBytes: inOrder.peakBytes };
  }
  const isGiven = budgetBytes !== undefined || maxOverhead !== undefined;
  if (!isGiven) notes.push("no budget was given: this is the recommended schedule within 5% overhead");
  const { schedule, budgetBytes: aimedAt } = isGiven ? found.point : found.recommended!.within5Percent;
  const front = frontOf(found.front, found.recommended);
  return {
    plan: () => planOfGraph(graph, name, { ...schedule, budgetBytes: aimedAt }),
    notes,
    summary: {
      ...summaryOf(graph, name, aimedAt, schedule),
      edgeCount: Array.isArray(file["edges"]) ? file["edges"].length : 0,
      inOrder: { peakBytes: inOrder.peakBytes, cost: inOrder.cost },
      front,
    },
  };
}

function summaryOf(
  graph: PlanningGraph,
  name: string,
  budgetBytes: number,
  schedule: Rematerialization,
): Omit<GraphPlanSummary, "edgeCount" | "inOrder"> {
  const { order, peakBytes, cost, overhead, lowerBound, gap, iterations, seed } = schedule;
  return {
    name,
    nodes: Array.from({ length: graph.nodeCount }, (_, v) => ({
      name: graph.nodeName(v),
      bytes: row(graph.outputs, v).reduce((sum, value) => sum + graph.bytes[value], 0),
      cost: graph.cost[v],
    })),
    budgetBytes,
    order,
    sequence: Array.from(schedule.sequence),
    peakBytes,
    cost,
    overhead,
    lowerBound,
    gap,
    iterations,
    seed,
  };
}

function frontOf(
  front: readonly BudgetedSchedule[],
  recommended: Readonly<Record<keyof PlanFront["recommended"], BudgetedSchedule>> | undefined,
): PlanFront | undefined {
  if (recommended === undefined) return undefined;
  const point = ({ budgetBytes, schedule }: BudgetedSchedule): FrontPoint => {
    const { peakBytes, cost, overhead, lowerBound, gap } = schedule;
    return { budgetBytes, peakBytes, cost, overhead, lowerBound, gap };
  };
  return {
    points: front.map(point),
    recommended: {
      noCost: point(recommended.noCost),
      within5Percent: point(recommended.within5Percent),
      within20Percent: point(recommended.within20Percent),
    },
  };
}

function infeasibleGraph(
  graph: PlanningGraph,
  name: string,
  budgetBytes: number,
  { smallest, isProvenInfeasible }: Pick<ScheduleAnswer, "smallest" | "isProvenInfeasible">,
  order: "fixed" | "free",
): InfeasibleBudget {
  const { bytes, node } = workingSet(graph, order === "free");
  const describe = (value: number) => ({ name: graph.nodeName(graph.producer[value]), bytes: graph.bytes[value] });
  const inputs = Array.from(row(graph.inputs, node), describe).sort((a, b) => b.bytes - a.bytes);
  const outputs = Array.from(row(graph.outputs, node), describe);
  return {
    name,
    budgetBytes,
    isProven: isProvenInfeasible,
    lowerBoundBytes: bytes,
    smallestFoundBytes: smallest.peakBytes,
    occurrence: `node ${node} '${graph.nodeName(node)}'`,
    inputs,
    outputs,
    heldBytes: graph.baseBytes,
    waitingBytes: [...inputs, ...outputs].reduce((rest, value) => rest - value.bytes, bytes - graph.baseBytes),
  };
}

function statedPeakBytes(file: Record<string, unknown>): number | undefined {
  const { inOrder } = file as { inOrder?: { peakBytes?: unknown } };
  const peak = inOrder?.peakBytes;
  return typeof peak === "number" && peak > 0 ? peak : undefined;
}

function readNamed(file: unknown, path: string): PlanningGraph {
  try {
    return readGraphFile(file);
  } catch (cause) {
    throw cause instanceof RematError ? new RematError(cause.code, `${path}: ${cause.message}`, { cause }) : cause;
  }
}
