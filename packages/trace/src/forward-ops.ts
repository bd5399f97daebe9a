import { type CallIndex, type OpIndex, opIndex } from "./index-types.js";
import type { Trace } from "./trace.js";
import { EventKind, FsdpHook, Phase } from "./vocabulary.js";

/**
 * Returns the forward ops of each module call in the order in which they ran. These are the ops that run again if the
 * call is recomputed. FSDP all-gathers the weights of a module before `forward` begins. A second run of `forward` does
 * not repeat the ops of the all-gather, so they are left out although they belong to the call.
 *
 * @example
 * forwardOpsByCall(trace)[call].map((op) => trace.opName(op)); // ["aten.t.default", "aten.addmm.default"]
 */
export function forwardOpsByCall(trace: Trace): readonly (readonly OpIndex[])[] {
  const { calls, events, moduleEvents, ops } = trace;
  const found: OpIndex[][] = Array.from({ length: calls.count }, () => []);
  const gathering = new Set<CallIndex>();
  for (let event = 0; event < events.count; event++) {
    const item = events.subject[event];
    if (events.kind[event] === EventKind.op) {
      const op = opIndex(item);
      if (ops.phase[op] !== Phase.forward) continue;
      for (const call of trace.opCalls(op)) if (!gathering.has(call)) found[call].push(op);
    } else if (events.kind[event] === EventKind.fsdpHook && moduleEvents.phase[item] === Phase.forward) {
      const call = moduleEvents.call[item];
      if (events.value[event] === FsdpHook.preForwardBegin) gathering.add(call);
      else if (events.value[event] === FsdpHook.preForwardEnd) gathering.delete(call);
    }
  }
  return found;
}
