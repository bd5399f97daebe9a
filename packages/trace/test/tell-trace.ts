import {
  categoryNames,
  EventKind,
  type OpIndex,
  phaseNames,
  row,
  runtimeSourceNames,
  savedAsNames,
  type TensorIndex,
  type Trace,
} from "../src/index.js";
import { opFlagNames } from "../src/op-flag-names.js";
import { fsdpHookNames } from "../src/vocabulary.js";

/**
 * All that a trace says, without the numbering of strings and stacks, which is nobody's business: two traces are the same if this is.
 */
export function tellTrace(trace: Trace): Record<string, unknown> {
  const { ops, calls, tensors, weights, events } = trace;
  const each = <T, I extends number = number>(count: number, tell: (index: I) => T): T[] =>
    Array.from({ length: count }, (_, i) => tell(i as I));
  return {
    header: trace.header,
    modules: trace.modules,
    scopes: trace.scopes,
    calls: each(calls.count, (i) => [calls.module[i], calls.number[i], calls.parent[i], calls.tensorInput[i]]),
    weights: each(weights.count, (i) => [
      weights.module[i],
      [...row(weights.parameters, i)],
      [...row(weights.buffers, i)],
    ]),
    tensors: each(tensors.count, (i: TensorIndex) => [
      trace.tensorStorages(i),
      trace.tensorDtype(i),
      trace.tensorShape(i),
      [...row(tensors.strides, i)],
    ]),
    ops: each(ops.count, (i: OpIndex) => ({
      name: trace.opName(i),
      phase: phaseNames[ops.phase[i]],
      flags: opFlagNames(ops.flags[i]),
      calls: [...trace.opCalls(i)],
      scope: ops.scope[i],
      forward: [ops.forwardOp[i], ops.forwardScope[i]],
      in: [...trace.opInputs(i)],
      out: [...trace.opOutputs(i)],
      attributes: ops.attributes[i] >= 0 && JSON.stringify(trace.opAttributes(i)),
      line: trace.opLine(i),
      source: runtimeSourceNames[ops.runtimeSource[i]],
      // Without a source the figures of a runtime mean nothing.
      runtime: ops.runtimeSource[i] > 0 && [ops.runtimeMs[i], ops.runtimeSpreadMs[i], ops.runtimeRuns[i]],
      cost: [ops.flops[i], ops.bytesRead[i], ops.bytesWritten[i]],
    })),
    events: each(events.count, (i) => tellEvent(trace, i)),
    truncated: trace.truncated,
  };
}

function tellEvent(trace: Trace, event: number): readonly unknown[] {
  const { events, storages, moduleEvents, saves } = trace;
  const subject = events.subject[event];
  const value = events.value[event];
  const moduleEvent = (): unknown[] => [
    moduleEvents.call[subject],
    phaseNames[moduleEvents.phase[subject]],
    ...row(moduleEvents.tensors, subject),
  ];
  switch (events.kind[event]) {
    case EventKind.op:
      return ["op", subject];
    case EventKind.allocate:
      return [
        "allocate",
        subject,
        storages.bytes[subject],
        trace.strings[storages.device[subject]],
        categoryNames[storages.category[subject]],
      ];
    case EventKind.free:
      return ["free", subject];
    case EventKind.resize:
      return ["resize", subject, value];
    case EventKind.categorize:
      return ["categorize", subject, categoryNames[value]];
    case EventKind.enterModule:
      return ["enter", ...moduleEvent()];
    case EventKind.exitModule:
      return ["exit", ...moduleEvent()];
    case EventKind.fsdpHook:
      return ["fsdp", ...moduleEvent(), fsdpHookNames[value]];
    case EventKind.save:
      return [
        "save",
        saves.storage[subject],
        saves.op[subject],
        savedAsNames[saves.as[subject]],
        saves.tensor[subject],
      ];
    case EventKind.unpack:
      return ["unpack", subject];
    case EventKind.unsave:
      return ["unsave", subject];
    case EventKind.savedOnly:
      return ["savedOnly", subject];
    case EventKind.enterScope:
      return ["enterScope", subject];
    case EventKind.exitScope:
      return ["exitScope", subject];
    case EventKind.mark:
      return ["mark", trace.strings[subject]];
    default:
      throw new Error(`event kind ${events.kind[event]} is not told`);
  }
}
