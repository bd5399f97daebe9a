import { type IndexColumn, type TensorIndex } from "../index-types.js";
import { categoryNames, EventKind, fsdpHookNames } from "../vocabulary.js";
import { FaultyTable } from "./faulty-table.js";
import type { TraceColumns } from "./trace-columns.js";

/**
 * Checks that the rows of a trace refer to earlier rows only, and that its events happen in a possible order, as
 * `TraceBuilder` does while a run is recorded. The values of each column were checked before.
 *
 * @throws FaultyTable
 */
export function checkOrder(trace: TraceColumns): void {
  checkDefinitions(trace);
  const check = new EventCheck(trace);
  for (let event = 0; event < trace.events.count; event++) check.event(event);
  check.end();
}

function checkDefinitions({ modules, calls, scopes, stacks, tensors, ops }: TraceColumns): void {
  const unnamed = modules.findIndex(({ fqn }) => fqn === "");
  if (unnamed >= 0)
    throw new FaultyTable("modules", unnamed, "fqn", "expected the name of a module, found an empty one");
  const callsOf = new Int32Array(modules.length);
  for (let call = 0; call < calls.count; call++) {
    checkEarlier("calls", "parent", calls.parent[call], call);
    const number = callsOf[calls.module[call]]++;
    if (calls.number[call] !== number)
      throw new FaultyTable("calls", call, "number", `expected ${number}, found ${calls.number[call]}`);
  }
  for (const [scope, { parent }] of scopes.entries()) checkEarlier("scopes", "parent", parent, scope);
  if (stacks.start.length < 2 || stacks.start[1] !== 0)
    throw new FaultyTable("stacks", 0, "calls", "expected the empty list as the first");
  for (const [tensor, storages] of tensors.moreStorages)
    if (storages.length < 2 || storages[0] !== tensors.storage[tensor])
      throw new FaultyTable(
        "sharedTensors",
        undefined,
        "storages",
        `expected several for tensor ${tensor}, its own first`,
      );
  for (let op = 0; op < ops.count; op++) checkEarlier("ops", "forwardOp", ops.forwardOp[op], op);
}

function checkEarlier(table: string, field: string, value: number, row: number): void {
  if (value >= row) throw new FaultyTable(table, row, field, `expected an earlier row, found ${value}`);
}

/** Follows the events of a trace. */
class EventCheck {
  private readonly trace: TraceColumns;
  /** For each tensor, the highest storage of it and of all tensors before. */
  private readonly highest: Int32Array;
  private readonly entered = new Set<number>();
  private readonly exited = new Set<number>();
  private storages = 0;
  private ops = 0;
  private moduleEvents = 0;
  private saves = 0;

  constructor(trace: TraceColumns) {
    this.trace = trace;
    this.highest = highestStorages(trace.tensors);
  }

  event(event: number): void {
    const { kind, subject, value } = this.trace.events;
    const about = subject[event];
    switch (kind[event]) {
      case EventKind.op:
        this.op(event, about);
        break;
      case EventKind.allocate:
        this.next(event, about, this.storages++);
        break;
      case EventKind.free:
      case EventKind.savedOnly:
        this.known(event, about, this.storages);
        break;
      case EventKind.resize:
        this.known(event, about, this.storages);
        return this.value(event, value[event] >= 0 && value[event] < Number.POSITIVE_INFINITY, "a number of bytes");
      case EventKind.categorize:
        this.known(event, about, this.storages);
        return this.value(event, value[event] in categoryNames, `0 to ${categoryNames.length - 1}`);
      case EventKind.fsdpHook:
        this.moduleEvent(event, about);
        return this.value(event, value[event] in fsdpHookNames, `0 to ${fsdpHookNames.length - 1}`);
      case EventKind.enterModule:
      case EventKind.exitModule:
        this.moduleEvent(event, about);
        break;
      case EventKind.save:
        this.save(event, about);
        break;
      case EventKind.unpack:
      case EventKind.unsave:
        this.known(event, about, this.saves);
        break;
      case EventKind.enterScope:
      case EventKind.exitScope:
        this.scope(event, about);
        break;
      case EventKind.mark:
        if (about < 0) throw this.fault(event, "subject", "expected a mark, found one that the table of marks lacks");
    }
    this.value(event, value[event] === 0, "0");
  }

  /** Checks that the events include everything in the tables. */
  end(): void {
    const { trace } = this;
    const found = {
      ops: [this.ops, trace.ops.count],
      storages: [this.storages, trace.storages.count],
      moduleEvents: [this.moduleEvents, trace.moduleEvents.count],
      saves: [this.saves, trace.saves.count],
    };
    for (const [table, [events, rows]] of Object.entries(found))
      if (events !== rows)
        throw new FaultyTable(
          "events",
          undefined,
          "kind",
          `expected ${rows} events for the table ${table}, found ${events}`,
        );
    if (trace.truncated !== undefined) return;
    const late = trace.saves.op.findIndex((op) => op >= trace.ops.count);
    if (late >= 0) throw new FaultyTable("saves", late, "op", `expected an op that ran, found ${trace.saves.op[late]}`);
  }

  private op(event: number, op: number): void {
    const { inputs, outputs, writes } = this.trace.ops;
    this.next(event, op, this.ops++);
    this.tensors("ops", op, "inputs", inputs.values, inputs.start[op], inputs.start[op + 1]);
    this.tensors("ops", op, "outputs", outputs.values, outputs.start[op], outputs.start[op + 1]);
    this.tensors("ops", op, "writes", writes.values, writes.start[op], writes.start[op + 1]);
  }

  private moduleEvent(event: number, row: number): void {
    const { start, values } = this.trace.moduleEvents.tensors;
    this.next(event, row, this.moduleEvents++);
    this.tensors("moduleEvents", row, "tensors", values, start[row], start[row + 1]);
  }

  private save(event: number, row: number): void {
    const { storage, op, tensor } = this.trace.saves;
    this.next(event, row, this.saves++);
    if (storage[row] >= this.storages)
      throw new FaultyTable("saves", row, "storage", `expected one that is allocated, found ${storage[row]}`);
    // A kernel may save a tensor before it is done, so the op may be the next one.
    if (op[row] > this.ops) throw new FaultyTable("saves", row, "op", `expected at most ${this.ops}, found ${op[row]}`);
    if (tensor[row] >= 0) this.tensors("saves", row, "tensor", tensor, row, row + 1);
  }

  private scope(event: number, scope: number): void {
    const { scopes, events } = this.trace;
    this.known(event, scope, scopes.length);
    const isEntered = events.kind[event] === EventKind.enterScope;
    const seen = isEntered ? this.entered : this.exited;
    if (seen.has(scope)) return;
    seen.add(scope);
    const field = isEntered ? "given" : "returned";
    const tensors = scopes[scope][field] ?? [];
    this.tensors("scopes", scope, field, tensors, 0, tensors.length);
  }

  /** Checks that the storages of tensors, and of all tensors before them, are allocated. */
  private tensors(
    table: string,
    row: number,
    field: string,
    tensors: ArrayLike<TensorIndex>,
    from: number,
    to: number,
  ): void {
    for (let i = from; i < to; i++)
      if (this.highest[tensors[i]] >= this.storages)
        throw new FaultyTable(table, row, field, `found tensor ${tensors[i]} before its storage is allocated`);
  }

  private next(event: number, found: number, expected: number): void {
    if (found !== expected)
      throw this.fault(event, "subject", `expected ${expected}, the next of its kind, found ${found}`);
  }

  private known(event: number, found: number, count: number): void {
    if (found >= count) throw this.fault(event, "subject", `expected a row below ${count}, found ${found}`);
  }

  private value(event: number, isValid: boolean, expected: string): void {
    if (!isValid) throw this.fault(event, "value", `expected ${expected}, found ${this.trace.events.value[event]}`);
  }

  private fault(event: number, field: string, detail: string): FaultyTable {
    return new FaultyTable("events", event, field, detail);
  }
}

function highestStorages({
  count,
  storage,
  moreStorages,
}: {
  readonly count: number;
  readonly storage: IndexColumn<number>;
  readonly moreStorages: ReadonlyMap<number, readonly number[]>;
}): Int32Array {
  const highest = new Int32Array(count);
  let most = -1;
  for (let tensor = 0; tensor < count; tensor++) {
    most = Math.max(most, storage[tensor]);
    if (moreStorages.size > 0) for (const each of moreStorages.get(tensor) ?? []) most = Math.max(most, each);
    highest[tensor] = most;
  }
  return highest;
}
