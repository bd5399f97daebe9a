import { type CallIndex, EventKind, Phase, row, Trace } from "@remat/trace";
import { oncePerTrace } from "./once-per-trace.js";

/**
 * Returns whether the backward pass of a call is over when the backward pass of another call begins. Autograd visits
 * calls in reverse order. A trace may record the end late: when all inputs of the call have gradients, although other
 * calls may share these inputs.
 */
export function isOver(trace: Trace, call: CallIndex, beginning: number): boolean {
  if (call <= beginning) return false;
  const { parent } = trace.calls;
  let around = parent[call];
  while (around > beginning) around = parent[around];
  return around !== beginning;
}

/**
 * Returns a run in which the stacks of ops leave out calls whose backward passes are over, even if the run does not
 * record the end. If there are no such calls, it returns the same run.
 */
export const withoutEndedCalls: (trace: Trace) => Trace = oncePerTrace((trace) => {
  const { start, values } = trace.stacks;
  const kept: number[] = [];
  const starts = new Int32Array(start.length);
  for (let stack = 0; stack + 1 < start.length; stack++) {
    const calls = values.subarray(start[stack], start[stack + 1]);
    for (const call of calls) if (!calls.some((other) => isOver(trace, call, other))) kept.push(call);
    starts[stack + 1] = kept.length;
  }
  if (kept.length === values.length) return trace;
  return new Trace({ ...trace, stacks: { start: starts, values: Int32Array.from(kept) } });
});

/**
 * Returns the calls whose backward passes compute gradients of their inputs and end with these gradients. The backward
 * passes of other calls end when the whole backward pass is over.
 */
export const callsWithInputGradients: (trace: Trace) => ReadonlySet<number> = oncePerTrace((trace) => {
  const { call, phase, tensors } = trace.moduleEvents;
  const { kind, subject, count } = trace.events;
  const calls = new Set<number>();
  for (let event = 0; event < count; event++) {
    const item = subject[event];
    if (kind[event] === EventKind.exitModule && phase[item] === Phase.backward && row(tensors, item).length > 0)
      calls.add(call[item]);
  }
  return calls;
});
