import { EventKind, type OpIndex, type Trace } from "@remat/trace";

/** The op that saved a tensor for a backward pass, or the checkpointed region that keeps it as an input. */
export interface Saver {
  readonly op: number | undefined;
  /** Index into `trace.scopes`. */
  readonly scope: number | undefined;
}

/** A saved tensor, and the place in the trace where it was saved. */
export interface TracedSave {
  readonly storage: number;
  /** Position in `trace.events`. */
  readonly event: number;
  /** The op whose event comes next. */
  readonly nextOp: number;
  /** The op for which the tensor was saved, if the trace records it, otherwise -1. */
  readonly op: number;
  /** The region that ended last, if no op has run since, and the region that begins before the next op. */
  readonly ended: number | undefined;
  readonly begins: number | undefined;
}

/** Returns all saved tensors of a trace, in order. */
export function readSaves(trace: Trace): readonly TracedSave[] {
  const { kind, subject, count } = trace.events;
  const isRegion = (event: number): boolean => trace.scopes[subject[event]].checkpoint !== undefined;
  const saves: TracedSave[] = [];
  /** Saves since the last op. */
  let recent: { -readonly [K in keyof TracedSave]: TracedSave[K] }[] = [];
  let nextOp = 0;
  let ended: number | undefined;
  for (let event = 0; event < count; event++)
    switch (kind[event]) {
      case EventKind.op:
        nextOp = subject[event] + 1;
        ended = undefined;
        recent = [];
        break;
      case EventKind.enterScope:
        if (isRegion(event)) for (const save of recent) save.begins ??= subject[event];
        break;
      case EventKind.exitScope:
        if (isRegion(event)) ended = subject[event];
        break;
      case EventKind.save: {
        const { storage, op } = trace.saves;
        recent.push({
          storage: storage[subject[event]],
          op: op[subject[event]],
          event,
          nextOp,
          ended,
          begins: undefined,
        });
        saves.push(recent.at(-1)!);
      }
    }
  return saves;
}

/**
 * How many ops before a save are searched for an op that uses the saved tensor. A custom autograd function saves
 * tensors after all its ops have run.
 */
const farthestOp = 64;

/**
 * Returns the op or region that saved a tensor, as far as the order of events shows it. Autograd saves inputs of an op
 * just before the op runs, and results just after. A region saves its inputs just before it begins or, if reentrant,
 * when it is over. Returns undefined if no such op or region uses the tensor.
 */
export function saverOf(trace: Trace, save: TracedSave): Saver | undefined {
  if (save.op >= 0) return { op: save.op, scope: undefined };
  const isGivenTo = (scope: number | undefined, form: string): scope is number =>
    scope !== undefined &&
    trace.scopes[scope].checkpoint === form &&
    (trace.scopes[scope].given ?? []).some((tensor) => trace.tensorStorages(tensor).includes(save.storage));
  if (isGivenTo(save.begins, "nonReentrant")) return { op: undefined, scope: save.begins };
  if (isGivenTo(save.ended, "reentrant")) return { op: undefined, scope: save.ended };
  const handles = (op: OpIndex): boolean =>
    [...trace.opInputs(op), ...trace.opOutputs(op)].some((tensor) =>
      trace.tensorStorages(tensor).includes(save.storage),
    );
  if (save.nextOp < trace.ops.count && handles(save.nextOp)) return { op: save.nextOp, scope: undefined };
  for (let op = save.nextOp - 1; op >= Math.max(0, save.nextOp - farthestOp); op--)
    if (handles(op)) return { op, scope: undefined };
  return undefined;
}
