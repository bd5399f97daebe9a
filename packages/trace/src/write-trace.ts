import { Gzip } from "fflate";
import { row, type Trace, type TraceHeader } from "./trace.js";
import type { TraceBuilder } from "./trace-builder.js";
import {
  categoryNames,
  EventKind,
  fsdpHookNames,
  OpFlag,
  type OpFlagName,
  phaseNames,
  RuntimeSource,
  runtimeSourceNames,
  savedAsNames,
} from "./vocabulary.js";

export const traceFormatVersion = 1;

const flagNames = Object.keys(OpFlag) as OpFlagName[];
const flagLists: string[][] = [];
/** Names of the bits set in an op's `flags`. */
export function opFlagNames(flags: number): readonly OpFlagName[] {
  return (flagLists[flags] ??= flagNames.filter((name) => flags & OpFlag[name])) as OpFlagName[];
}

/**
 * Turns a trace into lines of JSON, from where the last call stopped: what makes it possible to write a run to disk while it goes on,
 * so that a killed run leaves a readable file.
 */
export class TraceEncoder {
  private readonly next = { event: 0, module: 0, call: 0, scope: 0, tensor: 0, weights: 0 };
  private started = false;

  /** The records that `trace` has beyond those encoded so far, without line ends. `trace` must extend the earlier one. */
  *encode(trace: Trace): Generator<string, void, undefined> {
    if (!this.started) {
      this.started = true;
      yield headerLine(trace.header);
    }
    const { events, storages, strings, moduleEvents, saves, next } = { ...trace, next: this.next };
    for (; next.event < events.count; next.event++) {
      const subject = events.subject[next.event];
      switch (events.kind[next.event]) {
        case EventKind.op:
          yield* this.definitions(
            trace,
            maxOf(trace.opInputs(subject), trace.opOutputs(subject)),
            maxOf(trace.opCalls(subject)),
            trace.ops.scope[subject],
          );
          yield opLine(trace, subject);
          break;
        case EventKind.allocate:
          yield JSON.stringify({
            t: "alloc",
            s: subject,
            bytes: storages.bytes[subject],
            device: strings[storages.device[subject]],
            category: categoryNames[storages.category[subject]],
          });
          break;
        case EventKind.free: {
          const freed = [subject];
          while (next.event + 1 < events.count && events.kind[next.event + 1] === EventKind.free)
            freed.push(events.subject[++next.event]);
          yield JSON.stringify({ t: "free", s: freed });
          break;
        }
        case EventKind.resize:
          yield JSON.stringify({ t: "resize", s: subject, bytes: events.value[next.event] });
          break;
        case EventKind.categorize:
          yield JSON.stringify({ t: "category", s: subject, category: categoryNames[events.value[next.event]] });
          break;
        case EventKind.enterModule:
        case EventKind.exitModule: {
          const tensors = row(moduleEvents.tensors, subject);
          const call = moduleEvents.call[subject];
          yield* this.definitions(trace, maxOf(tensors), call, -1);
          yield JSON.stringify({
            t: events.kind[next.event] === EventKind.enterModule ? "enter" : "exit",
            call,
            phase: phaseNames[moduleEvents.phase[subject]],
            tensors: Array.from(tensors),
          });
          break;
        }
        case EventKind.save:
          yield* this.definitions(trace, saves.tensor[subject], -1, -1);
          yield JSON.stringify({
            t: "save",
            s: saves.storage[subject],
            op: saves.op[subject],
            as: savedAsNames[saves.as[subject]],
            tensor: saves.tensor[subject],
          });
          break;
        case EventKind.enterScope:
        case EventKind.exitScope:
          yield* this.definitions(trace, -1, -1, subject);
          yield JSON.stringify({
            t: events.kind[next.event] === EventKind.enterScope ? "enterScope" : "exitScope",
            scope: subject,
          });
          break;
        case EventKind.mark:
          yield JSON.stringify({ t: "mark", name: strings[subject] });
          break;
        case EventKind.fsdpHook: {
          const call = moduleEvents.call[subject];
          yield* this.definitions(trace, -1, call, -1);
          yield JSON.stringify({
            t: "fsdp",
            call,
            phase: phaseNames[moduleEvents.phase[subject]],
            hook: fsdpHookNames[events.value[next.event]],
          });
          break;
        }
      }
    }
    yield* this.weights(trace);
  }

  /** Definitions that no event has needed yet, and the record that says the trace is whole. */
  *end(trace: Trace): Generator<string, void, undefined> {
    yield* this.encode(trace);
    yield* this.definitions(trace, trace.tensors.count - 1, trace.calls.count - 1, trace.scopes.length - 1);
    yield* this.modules(trace, trace.modules.length - 1);
    if (trace.truncated === undefined) yield JSON.stringify({ t: "end", events: trace.events.count });
  }

  private *definitions(trace: Trace, tensor: number, call: number, scope: number): Generator<string, void, undefined> {
    const { next } = this;
    for (; next.call <= call; next.call++) {
      const { module, parent, tensorInput } = trace.calls;
      yield* this.modules(trace, module[next.call]);
      yield JSON.stringify({
        t: "call",
        id: next.call,
        module: module[next.call],
        parent: parent[next.call],
        tensorInput: tensorInput[next.call] === 1,
      });
    }
    for (; next.scope <= scope; next.scope++)
      yield JSON.stringify({ t: "scope", id: next.scope, ...trace.scopes[next.scope] });
    for (; next.tensor <= tensor; next.tensor++) {
      const storages = trace.tensorStorages(next.tensor);
      const strides = row(trace.tensors.strides, next.tensor);
      yield JSON.stringify({
        t: "tensor",
        id: next.tensor,
        s: storages.length === 1 ? storages[0] : storages,
        dtype: trace.tensorDtype(next.tensor),
        shape: trace.tensorShape(next.tensor),
        ...(strides.length > 0 && { strides: Array.from(strides) }),
      });
    }
  }

  private *weights(trace: Trace): Generator<string, void, undefined> {
    const { weights } = trace;
    for (; this.next.weights < weights.count; this.next.weights++) {
      const module = weights.module[this.next.weights];
      const parameters = row(weights.parameters, this.next.weights);
      const buffers = row(weights.buffers, this.next.weights);
      yield* this.modules(trace, module);
      yield* this.definitions(trace, maxOf(parameters, buffers), -1, -1);
      yield JSON.stringify({
        t: "weights",
        module,
        parameters: Array.from(parameters),
        buffers: Array.from(buffers),
      });
    }
  }

  private *modules(trace: Trace, last: number): Generator<string, void, undefined> {
    for (; this.next.module <= last; this.next.module++)
      yield JSON.stringify({ t: "module", id: this.next.module, ...trace.modules[this.next.module] });
  }
}

/**
 * A trace as JSON Lines (`.remat.jsonl`), in chunks of some 64 kB, gzipped on request (`.remat.jsonl.gz`).
 *
 * @example
 * for (const chunk of writeTrace(trace, { gzip: true })) file.write(chunk);
 */
export function* writeTrace(trace: Trace, options: { gzip?: boolean } = {}): Generator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder();
  const chunks: Uint8Array[] = [];
  const gzip = options.gzip ? new Gzip((chunk) => chunks.push(chunk)) : undefined;
  let pending = "";
  const flush = (final: boolean): void => {
    const bytes = encoder.encode(pending);
    pending = "";
    if (gzip) gzip.push(bytes, final);
    else if (bytes.length > 0) chunks.push(bytes);
  };
  for (const line of new TraceEncoder().end(trace)) {
    pending += `${line}\n`;
    if (pending.length >= 65536) {
      flush(false);
      while (chunks.length > 0) yield chunks.shift() as Uint8Array;
    }
  }
  flush(true);
  yield* chunks;
}

/**
 * Lines for what `builder` has recorded since the last call: hand them to an append-only file now and then.
 * @see TraceEncoder
 */
export function* encodeProgress(encoder: TraceEncoder, builder: TraceBuilder): Generator<string, void, undefined> {
  yield* encoder.encode(builder.build());
}

function headerLine(header: TraceHeader): string {
  return JSON.stringify({ remat: "trace", version: traceFormatVersion, ...header });
}

function opLine(trace: Trace, op: number): string {
  const { ops } = trace;
  const record: Record<string, unknown> = { t: "op", id: op, name: trace.opName(op), phase: phaseNames[ops.phase[op]] };
  if (ops.flags[op] !== 0) record["flags"] = opFlagNames(ops.flags[op]);
  const calls = trace.opCalls(op);
  if (calls.length > 0) {
    if (isChain(trace, calls)) record["call"] = calls[calls.length - 1];
    else record["stack"] = Array.from(calls);
  }
  if (ops.scope[op] >= 0) record["scope"] = ops.scope[op];
  if (ops.forwardOp[op] >= 0) record["forwardOp"] = ops.forwardOp[op];
  if (ops.forwardScope[op] >= 0) record["forwardScope"] = ops.forwardScope[op];
  record["in"] = Array.from(trace.opInputs(op));
  record["out"] = Array.from(trace.opOutputs(op));
  if (ops.runtimeSource[op] !== RuntimeSource.none) {
    record["ms"] = ops.runtimeMs[op];
    record["source"] = runtimeSourceNames[ops.runtimeSource[op]];
    if (ops.runtimeRuns[op] > 0) record["runs"] = ops.runtimeRuns[op];
    if (!Number.isNaN(ops.runtimeSpreadMs[op])) record["spreadMs"] = ops.runtimeSpreadMs[op];
  }
  if (!Number.isNaN(ops.flops[op])) record["flops"] = ops.flops[op];
  if (!Number.isNaN(ops.bytesRead[op])) record["read"] = ops.bytesRead[op];
  if (!Number.isNaN(ops.bytesWritten[op])) record["written"] = ops.bytesWritten[op];
  const json = JSON.stringify(record);
  const attributes = ops.attributes[op];
  return attributes < 0 ? json : `${json.slice(0, -1)},"attrs":${trace.strings[attributes]}}`;
}

/** Whether a stack is just its innermost call and the calls around that. */
function isChain(trace: Trace, calls: Int32Array): boolean {
  for (let i = calls.length - 1; i >= 0; i--)
    if (trace.calls.parent[calls[i]] !== (i === 0 ? -1 : calls[i - 1])) return false;
  return true;
}

function maxOf(...lists: readonly ArrayLike<number>[]): number {
  let max = -1;
  for (const list of lists) for (let i = 0; i < list.length; i++) if (list[i] > max) max = list[i];
  return max;
}
