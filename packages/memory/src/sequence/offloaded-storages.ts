import type { Plan } from "@remat/trace";
import { planValues } from "./plan-values.js";
import type { TraceSequenceGraph } from "./sequence-graph-of-trace.js";

/** A storage that a plan offloads. */
export interface OffloadedStorage {
  readonly storage: number;
  /** Size in bytes, rounded up to the allocation unit. */
  readonly bytes: number;
  /** The op that makes it. */
  readonly op: number;
  /** The step of the plan after which it moves to host memory. */
  readonly afterStep: number;
  /** The steps after which it is reloaded. Host memory keeps it up to the last of them. */
  readonly reloadedAfterSteps: readonly number[];
}

/**
 * Returns the storages that a plan offloads, in order, and when they are reloaded.
 *
 * @param graph the graph of the trace that the plan is for
 */
export function offloadedStorages(graph: TraceSequenceGraph, plan: Plan): OffloadedStorage[] {
  const { storageOfValue, bytes } = graph;
  const found = new Map<string, OffloadedStorage & { readonly reloadedAfterSteps: number[] }>();
  let valueOf: ReadonlyMap<string, number> | undefined;
  for (const [step, { offload = [], reload = [] }] of plan.steps.entries()) {
    for (const value of offload) {
      if (!("op" in value)) continue;
      valueOf ??= new Map(
        planValues(graph).names.flatMap((name, v) => (name && "op" in name ? [[keyOf(name), v] as const] : [])),
      );
      const v = valueOf.get(keyOf(value));
      if (v === undefined) continue;
      const moved = { storage: storageOfValue[v], bytes: bytes[v], op: value.op, afterStep: step };
      found.set(keyOf(value), { ...moved, reloadedAfterSteps: [] });
    }
    for (const value of reload) if ("op" in value) found.get(keyOf(value))?.reloadedAfterSteps.push(step);
  }
  return [...found.values()];
}

/** Returns the bytes that move between device and host, in both directions together. */
export function movedBytes(offloaded: readonly OffloadedStorage[]): number {
  return offloaded.reduce((sum, { bytes, reloadedAfterSteps }) => sum + bytes * (1 + reloadedAfterSteps.length), 0);
}

/** Returns the peak of host memory used by offloaded storages, in bytes. */
export function hostPeakBytes(offloaded: readonly OffloadedStorage[]): number {
  const changes = offloaded.flatMap(({ bytes, afterStep, reloadedAfterSteps }) => [
    { step: afterStep, bytes },
    { step: reloadedAfterSteps.at(-1) ?? Number.POSITIVE_INFINITY, bytes: -bytes },
  ]);
  // At the same step, offloading comes before reloading.
  changes.sort((a, b) => a.step - b.step || b.bytes - a.bytes);
  let held = 0;
  let most = 0;
  for (const { bytes } of changes) {
    held += bytes;
    most = Math.max(most, held);
  }
  return most;
}

const keyOf = ({ op, output }: { readonly op: number; readonly output: number }): string => `${op} ${output}`;
