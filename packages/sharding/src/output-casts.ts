import { EventKind, Phase, row, type Trace } from "@remat/trace";
import type { CastStorages } from "./cast-storages.js";
import { elementBytes, isFloatDtype } from "./sharding-plan.js";

/**
 * Returns the casts of the root's outputs, in a run recorded in the lower dtype, if the plan asks for a higher dtype.
 * Returns undefined if none exist.
 *
 * @param low the dtype that the run computes in
 * @param output the dtype that outputs are cast to
 */
export function outputCasts(trace: Trace, root: number, low: string, output: string): CastStorages | undefined {
  const explicit = new Map<number, { storage: number; dtype: string }[]>();
  eachReturn(trace, root, (event, tensors) => {
    const casts = [...new Set(tensors)].flatMap((tensor) =>
      isNarrower(trace.tensorDtype(tensor), output) ? [{ storage: trace.tensors.storage[tensor], dtype: output }] : [],
    );
    if (casts.length > 0) explicit.set(event, casts);
  });
  if (explicit.size === 0) return undefined;
  const none = new Map<number, never>();
  const isLow = new Uint8Array(trace.storages.count);
  return {
    isLow,
    lowDtype: low,
    explicit,
    inputs: none,
    readFromOutside: none,
    castsUp: new Set(),
    gradients: none,
    twoDtypes: -1,
    byOp: none,
  };
}

/** Returns whether ops outside of the root read its outputs, except for the loss, which is one number. */
export function isOutputRead(trace: Trace, root: number): boolean {
  const returned = new Set<number>();
  eachReturn(trace, root, (_, tensors) => {
    for (const tensor of tensors)
      if (isFloatDtype(trace.tensorDtype(tensor)) && trace.tensorShape(tensor).length > 0)
        returned.add(trace.tensors.storage[tensor]);
  });
  for (let op = 0; op < trace.ops.count; op++) {
    if (trace.ops.phase[op] !== Phase.forward || trace.opCalls(op).some((call) => trace.calls.module[call] === root))
      continue;
    for (const tensor of trace.opInputs(op)) if (returned.has(trace.tensors.storage[tensor])) return true;
  }
  return false;
}

function isNarrower(dtype: string, than: string): boolean {
  return isFloatDtype(dtype) && elementBytes(dtype) < elementBytes(than);
}

function eachReturn(trace: Trace, root: number, visit: (event: number, tensors: Int32Array) => void): void {
  const { kind, subject, count } = trace.events;
  const { call, phase, tensors } = trace.moduleEvents;
  for (let event = 0; event < count; event++) {
    const item = subject[event];
    if (kind[event] !== EventKind.exitModule || phase[item] !== Phase.forward) continue;
    if (trace.calls.module[call[item]] === root) visit(event, row(tensors, item));
  }
}
