import { EventKind, type OpIndex, type Trace } from "@remat/trace";

/** Who saved a tensor for a backward pass: an op, or a checkpointed region, which holds what it was given. */
export interface Saver {
  readonly op: number | undefined;
  /** Index into `trace.scopes`. */
  readonly scope: number | undefined;
}

/** A saved tensor, with where in the trace it was saved. */
export interface TracedSave {
  readonly storage: number;
  /** Position in `trace.events`. */
  readonly event: number;
  /** The op whose event comes next. */
  readonly nextOp: number;
  /** The op for which it was saved, where the trace says; else -1. */
  readonly op: number;
  /** The region that ended last, if no op ran since, and the one that begins before the next op. */
  readonly ended: number | undefined;
  readonly begins: number | undefined;
}

/** Returns all saved tensors of a trace in order. */
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

/** How many ops before a save are looked at for one that handles what was saved: a function of one's own saves when all its ops have run. */
const farthestOp = 64;

/**
 * Returns who saved a tensor, as far as the order of things tells: autograd saves what an op reads just before it runs, and results just after; a region
 * saves what it is given just before it begins or, re-entrant, when it is over. Undefined where none of these handles it.
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
