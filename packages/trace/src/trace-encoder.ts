import { type FreshOutputs, findFreshOutputs } from "./fresh-outputs.js";
import {
  callIndex,
  type OpIndex,
  opIndex,
  type StorageIndex,
  storageIndex,
  type TensorIndex,
  tensorIndex,
} from "./index-types.js";
import { opFlagNames } from "./op-flag-names.js";
import { mostLineBytes } from "./record-lines.js";
import { row, type Trace, type TraceHeader } from "./trace.js";
import type { TraceBuilder } from "./trace-builder.js";
import {
  categoryNames,
  EventKind,
  fsdpHookNames,
  OpFlag,
  phaseNames,
  RuntimeSource,
  runtimeSourceNames,
  savedAsNames,
} from "./vocabulary.js";

/** Version of the file format. A reader rejects any other version. */
export const traceFormatVersion = 1;

const noStorage = storageIndex(0);

/**
 * Encodes a trace as lines of JSON. Each call continues where the last one stopped. A run can thus be written to disk
 * while it goes on, and a killed run leaves a readable file. The README of the package describes the records.
 *
 * @example
 * const encoder = new TraceEncoder();
 * for (const line of encodeProgress(encoder, builder)) appendFileSync("run.remat.jsonl", `${line}\n`); // now and then
 * for (const line of encoder.end(builder.build())) appendFileSync("run.remat.jsonl", `${line}\n`); // at the end
 */
export class TraceEncoder {
  private readonly next = { event: 0, module: 0, call: callIndex(0), scope: 0, tensor: tensorIndex(0), weights: 0 };
  private started = false;
  /** Scopes that have been entered or left. Their tensors are written only the first time. */
  private readonly entered = new Set<number>();
  private readonly exited = new Set<number>();
  private lines: string[] = [];
  /** `trace.strings` as JSON, by index. Strings keep their index as a trace grows. */
  private readonly quoted: string[] = [];
  private trace!: Trace;

  /**
   * Yields the records of `trace` that are not encoded yet, without line ends. `trace` must extend the trace of the
   * previous call.
   */
  *encode(trace: Trace): Generator<string, void, undefined> {
    this.trace = trace;
    if (!this.started) {
      this.started = true;
      yield headerLine(trace.header);
    }
    while (this.next.event < trace.events.count) {
      this.encodeEvent();
      yield* this.taken();
    }
    this.encodeWeights();
    yield* this.taken();
  }

  /**
   * Yields the records of {@link encode}, then the definitions that no event needed, and last the record that marks the
   * trace as complete.
   */
  *end(trace: Trace): Generator<string, void, undefined> {
    yield* this.encode(trace);
    this.define(trace.tensors.count - 1, trace.calls.count - 1, trace.scopes.length - 1);
    this.defineModules(trace.modules.length - 1);
    if (trace.truncated === undefined)
      this.lines.push(`{"t":"end","events":${trace.events.count}${recordedIn(trace)}}`);
    yield* this.taken();
  }

  private taken(): readonly string[] {
    const { lines } = this;
    this.lines = [];
    return lines;
  }

  private encodeEvent(): void {
    const { events, moduleEvents, saves } = this.trace;
    const event = this.next.event++;
    const kind = events.kind[event];
    const subject = events.subject[event];
    switch (kind) {
      case EventKind.op: {
        const op = opIndex(subject);
        return this.encodeOp(op, findFreshOutputs(this.trace, op, this.next.tensor, noStorage, noStorage), noStorage);
      }
      case EventKind.allocate:
        return this.encodeAllocations(event);
      case EventKind.free: {
        let freed = `${subject}`;
        while (this.next.event < events.count && events.kind[this.next.event] === EventKind.free)
          freed += `,${events.subject[this.next.event++]}`;
        this.lines.push(`{"t":"free","s":[${freed}]}`);
        return;
      }
      case EventKind.resize:
        this.lines.push(`{"t":"resize","s":${subject},"bytes":${events.value[event]}}`);
        return;
      case EventKind.categorize:
        this.lines.push(`{"t":"category","s":${subject},"category":"${categoryNames[events.value[event]]}"}`);
        return;
      case EventKind.enterModule:
      case EventKind.exitModule: {
        const tensors = row(moduleEvents.tensors, subject);
        this.define(maxOf(tensors), moduleEvents.call[subject], -1);
        const t = kind === EventKind.enterModule ? "enter" : "exit";
        this.lines.push(`{"t":"${t}",${this.callOfEvent(subject)},"tensors":[${tensors.join()}]}`);
        return;
      }
      case EventKind.fsdpHook:
        this.define(-1, moduleEvents.call[subject], -1);
        this.lines.push(`{"t":"fsdp",${this.callOfEvent(subject)},"hook":"${fsdpHookNames[events.value[event]]}"}`);
        return;
      case EventKind.save:
        this.define(saves.tensor[subject], -1, -1);
        this.lines.push(
          `{"t":"save","s":${saves.storage[subject]},"op":${saves.op[subject]},"as":"${savedAsNames[saves.as[subject]]}","tensor":${saves.tensor[subject]}}`,
        );
        return;
      case EventKind.unpack:
      case EventKind.unsave:
        this.lines.push(`{"t":"${kind === EventKind.unpack ? "unpack" : "unsave"}","save":${subject}}`);
        return;
      case EventKind.savedOnly:
        this.lines.push(`{"t":"savedOnly","s":${subject}}`);
        return;
      case EventKind.enterScope:
      case EventKind.exitScope: {
        const isEntered = kind === EventKind.enterScope;
        const seen = isEntered ? this.entered : this.exited;
        const { given, returned } = this.trace.scopes[subject];
        const tensors = seen.has(subject) ? undefined : isEntered ? given : returned;
        seen.add(subject);
        this.define(tensors === undefined ? -1 : maxOf(tensors), -1, subject);
        const listed = tensors === undefined ? "" : `,"${isEntered ? "given" : "returned"}":[${tensors.join()}]`;
        this.lines.push(`{"t":"${isEntered ? "enterScope" : "exitScope"}","scope":${subject}${listed}}`);
        return;
      }
      case EventKind.mark:
        this.lines.push(`{"t":"mark","name":${this.quote(subject)}}`);
        return;
    }
  }

  /** Encodes a run of allocations. Events that belong to the next op go into the record of the op. */
  private encodeAllocations(event: number): void {
    const { events } = this.trace;
    while (this.next.event < events.count && events.kind[this.next.event] === EventKind.allocate) this.next.event++;
    const first = storageIndex(events.subject[event]);
    const end = storageIndex(first + this.next.event - event);
    if (this.next.event === events.count || events.kind[this.next.event] !== EventKind.op)
      return this.encodeStorages(first, end);
    const op = opIndex(events.subject[this.next.event++]);
    const fresh = findFreshOutputs(this.trace, op, this.next.tensor, first, end);
    this.encodeStorages(first, fresh.firstStorage);
    this.encodeOp(op, fresh, end);
  }

  private encodeStorages(first: StorageIndex, end: StorageIndex): void {
    for (let s = first; s < end; s++) this.lines.push(`{"t":"alloc","s":${s},${this.allocation(s)}}`);
  }

  private allocation(storage: StorageIndex): string {
    const { storages, strings, header } = this.trace;
    const device = storages.device[storage];
    const where = strings[device] === header.device ? "" : `,"device":${this.quote(device)}`;
    return `"bytes":${storages.bytes[storage]}${where},"category":"${categoryNames[storages.category[storage]]}"`;
  }

  /**
   * Encodes an op. Its record defines the outputs from `fresh.firstTensor` on and allocates the storages
   * `fresh.firstStorage … endStorage - 1`.
   */
  private encodeOp(op: OpIndex, fresh: FreshOutputs, endStorage: StorageIndex): void {
    const { trace } = this;
    const { ops } = trace;
    const inputs = trace.opInputs(op);
    const outputs = trace.opOutputs(op);
    const calls = trace.opCalls(op);
    this.define(
      Math.max(maxOf(inputs), fresh.firstTensor - 1),
      maxOf(calls),
      Math.max(ops.scope[op], ops.forwardScope[op]),
    );

    let line = `{"t":"op","id":${op},"name":${this.quote(ops.name[op])},"phase":"${phaseNames[ops.phase[op]]}"`;
    if (ops.flags[op] !== 0) line += `,"flags":${JSON.stringify(opFlagNames(ops.flags[op]))}`;
    if (calls.length > 0) {
      line += isChain(trace, calls) ? `,"call":${calls[calls.length - 1]}` : `,"stack":[${calls.join()}]`;
    }
    if (ops.scope[op] >= 0) line += `,"scope":${ops.scope[op]}`;
    if (ops.forwardOp[op] >= 0) line += `,"forwardOp":${ops.forwardOp[op]}`;
    if (ops.forwardScope[op] >= 0) line += `,"forwardScope":${ops.forwardScope[op]}`;
    line += `,"in":[${inputs.join()}],"out":[`;
    let storage = fresh.firstStorage;
    for (let i = 0; i < outputs.length; i++) {
      if (i > 0) line += ",";
      if (outputs[i] === this.next.tensor) {
        const allocates = storage < endStorage && trace.tensors.storage[outputs[i]] === storage;
        line += `{${this.tensor(outputs[i])}${allocates ? `,${this.allocation(storageIndex(storage++))}` : ""}}`;
        this.next.tensor++;
      } else line += outputs[i];
    }
    line += "]";
    const writes = row(ops.writes, op);
    if (!isSame(writes, ops.flags[op] & OpFlag.inPlace ? outputs : none)) line += `,"writes":[${writes.join()}]`;
    if (ops.runtimeSource[op] !== RuntimeSource.none) {
      line += `,"ms":${ops.runtimeMs[op]},"source":"${runtimeSourceNames[ops.runtimeSource[op]]}"`;
      if (ops.runtimeRuns[op] > 0) line += `,"runs":${ops.runtimeRuns[op]}`;
      if (!Number.isNaN(ops.runtimeSpreadMs[op])) line += `,"spreadMs":${ops.runtimeSpreadMs[op]}`;
    }
    if (!Number.isNaN(ops.flops[op])) line += `,"flops":${ops.flops[op]}`;
    if (!Number.isNaN(ops.bytesRead[op])) line += `,"read":${ops.bytesRead[op]}`;
    if (!Number.isNaN(ops.bytesWritten[op])) line += `,"written":${ops.bytesWritten[op]}`;
    if (ops.line[op] >= 0) line += `,"line":${this.quote(ops.line[op])}`;
    if (ops.attributes[op] >= 0) line += `,"attrs":${trace.strings[ops.attributes[op]]}`;
    this.lines.push(`${line}}`);
  }

  private encodeWeights(): void {
    const { weights } = this.trace;
    for (; this.next.weights < weights.count; this.next.weights++) {
      const module = weights.module[this.next.weights];
      const parameters = row(weights.parameters, this.next.weights);
      const buffers = row(weights.buffers, this.next.weights);
      this.defineModules(module);
      this.define(Math.max(maxOf(parameters), maxOf(buffers)), -1, -1);
      this.lines.push(
        `{"t":"weights","module":${module},"parameters":[${parameters.join()}],"buffers":[${buffers.join()}]}`,
      );
    }
  }

  /** Writes the definitions up to the given tensor, call and scope that have not been written yet. */
  private define(tensor: number, call: number, scope: number): void {
    const { next, trace, lines } = this;
    for (; next.call <= call; next.call++) {
      const module = trace.calls.module[next.call];
      this.defineModules(module);
      lines.push(
        `{"t":"call","id":${next.call},"module":${module},"parent":${trace.calls.parent[next.call]},"tensorInput":${trace.calls.tensorInput[next.call] === 1}}`,
      );
    }
    for (; next.scope <= scope; next.scope++) {
      const { name, parent, checkpoint, line } = trace.scopes[next.scope];
      lines.push(JSON.stringify({ t: "scope", id: next.scope, name, parent, checkpoint, line }));
    }
    for (; next.tensor <= tensor; next.tensor++) lines.push(`{"t":"tensor",${this.tensor(next.tensor)}}`);
  }

  private defineModules(last: number): void {
    for (; this.next.module <= last; this.next.module++) {
      const { fqn, kind, leaf } = this.trace.modules[this.next.module];
      this.lines.push(JSON.stringify({ t: "module", id: this.next.module, fqn, kind, leaf }));
    }
  }

  private tensor(tensor: TensorIndex): string {
    const { tensors } = this.trace;
    const storages = tensors.moreStorages.get(tensor);
    const s = storages === undefined ? tensors.storage[tensor] : `[${storages.join()}]`;
    const type = `${this.quote(tensors.dtype[tensor]).slice(0, -1)}[${row(tensors.shape, tensor).join()}]"`;
    const strides = row(tensors.strides, tensor);
    return `"id":${tensor},"s":${s},"type":${type}${strides.length === 0 ? "" : `,"strides":[${strides.join()}]`}`;
  }

  private callOfEvent(moduleEvent: number): string {
    const { call, phase } = this.trace.moduleEvents;
    return `"call":${call[moduleEvent]},"phase":"${phaseNames[phase[moduleEvent]]}"`;
  }

  private quote(string: number): string {
    return (this.quoted[string] ??= JSON.stringify(this.trace.strings[string]));
  }
}

/**
 * Yields the lines for the records added to `builder` since the last call. Call it from time to time and append the
 * lines to a file.
 *
 * @see TraceEncoder
 */
export function* encodeProgress(encoder: TraceEncoder, builder: TraceBuilder): Generator<string, void, undefined> {
  yield* encoder.encode(builder.build());
}

/**
 * Writes the runs recorded in other dtypes as records nested in the end record. They are left out if the line would be
 * longer than a reader accepts.
 */
function recordedIn(trace: Trace): string {
  const runs: string[] = [];
  let chars = 0;
  for (const [dtype, run] of trace.recordedIn) {
    if (run.truncated !== undefined) continue;
    const records: string[] = [];
    for (const line of new TraceEncoder().end(run)) {
      chars += line.length + 1;
      if (chars > mostLineBytes / 3) return "";
      records.push(line);
    }
    runs.push(`${JSON.stringify(dtype)}:[${records.join(",")}]`);
  }
  return runs.length === 0 ? "" : `,"recordedIn":{${runs.join(",")}}`;
}

function headerLine(header: TraceHeader): string {
  return JSON.stringify({ remat: "trace", version: traceFormatVersion, ...header });
}

const none = new Int32Array(0);

function isSame(list: Int32Array, other: Int32Array): boolean {
  return list.length === other.length && list.every((item, i) => item === other[i]);
}

/** Returns whether a stack consists of its innermost call and all calls that enclose it. */
function isChain(trace: Trace, calls: Int32Array): boolean {
  for (let i = calls.length - 1; i >= 0; i--)
    if (trace.calls.parent[calls[i]] !== (i === 0 ? -1 : calls[i - 1])) return false;
  return true;
}

function maxOf(list: ArrayLike<number>): number {
  let max = -1;
  for (let i = 0; i < list.length; i++) if (list[i] > max) max = list[i];
  return max;
}
