import { type CallIndex, type StorageIndex, type TensorIndex } from "./index-types.js";
import {
  bool,
  expectNext,
  index,
  indices,
  integers,
  list,
  number,
  numberOr,
  oneOf,
  type TraceRecord,
  text,
} from "./record-fields.js";
import { parseTensorType, type TensorType } from "./tensor-type.js";
import type { CheckpointForm } from "./trace.js";
import type { OpRecord, TraceBuilder } from "./trace-builder.js";
import { excerpt, TraceFieldError } from "./trace-field-error.js";
import { Category, FsdpHook, OpFlag, Phase, RuntimeSource, SavedAs } from "./vocabulary.js";

/** Builds a trace from the records of a trace file, one by one. @internal */
export class RecordReader {
  /** True if the end record has been read. */
  ended = false;
  /** Records of the same step recorded in other dtypes, by dtype. They are part of the end record. */
  readonly recordedIn: Map<string, readonly unknown[]> = new Map();
  private readonly b: TraceBuilder;
  private readonly types = new Map<string, TensorType>();

  constructor(builder: TraceBuilder) {
    this.b = builder;
  }

  /**
   * Adds a record.
   *
   * @throws TraceFieldError with the name of the invalid field
   */
  apply(r: TraceRecord): void {
    if (this.ended) throw new TraceFieldError("t", "found a record after the end record");
    const { b } = this;
    switch (r["t"]) {
      case "op":
        return this.op(r);
      case "tensor":
        return this.tensor(r);
      case "alloc":
        return this.allocate(r);
      case "free":
        for (const storage of indices<StorageIndex>(r, "s")) b.free(storage);
        return;
      case "enter":
        return b.enterModule(index(r, "call"), oneOf(r, "phase", Phase), indices(r, "tensors"));
      case "exit":
        return b.exitModule(index(r, "call"), oneOf(r, "phase", Phase), indices(r, "tensors"));
      case "save":
        return b.save(index(r, "s"), index(r, "op"), oneOf(r, "as", SavedAs), index(r, "tensor"));
      case "unpack":
        return b.unpack(number(r, "save"));
      case "unsave":
        return b.unsave(number(r, "save"));
      case "savedOnly":
        return b.savedOnly(index(r, "s"));
      case "category":
        return b.categorize(index(r, "s"), oneOf(r, "category", Category));
      case "resize":
        return b.resize(index(r, "s"), number(r, "bytes"));
      case "module":
        expectNext("id", r["id"], b.moduleCount);
        b.module({ fqn: text(r, "fqn"), kind: text(r, "kind"), leaf: bool(r, "leaf") });
        return;
      case "weights":
        return b.moduleWeights(index(r, "module"), indices(r, "parameters"), indices(r, "buffers"));
      case "call":
        expectNext("id", r["id"], b.callCount);
        b.call(index(r, "module"), index(r, "parent"), bool(r, "tensorInput"));
        return;
      case "scope":
        expectNext("id", r["id"], b.scopeCount);
        b.scope(text(r, "name"), number(r, "parent"), {
          ...(r["checkpoint"] !== undefined && { checkpoint: checkpointForm(r) }),
          ...(r["line"] !== undefined && { line: text(r, "line") }),
        });
        return;
      case "enterScope":
        return b.enterScope(number(r, "scope"), r["given"] === undefined ? undefined : indices(r, "given"));
      case "exitScope":
        return b.exitScope(number(r, "scope"), r["returned"] === undefined ? undefined : indices(r, "returned"));
      case "fsdp":
        return b.fsdpHook(index(r, "call"), oneOf(r, "phase", Phase), oneOf(r, "hook", FsdpHook));
      case "mark":
        return b.mark(text(r, "name"));
      case "end":
        if (r["events"] !== b.eventCount)
          throw new TraceFieldError(
            "events",
            `expected ${b.eventCount}, the number of events before it, found ${excerpt(r["events"])}`,
          );
        if (b.lastSavedOp >= b.opCount)
          throw new TraceFieldError("events", `a saved tensor belongs to op ${b.lastSavedOp}, which never ran`);
        for (const [dtype, records] of Object.entries(r["recordedIn"] ?? {})) {
          if (!Array.isArray(records))
            throw new TraceFieldError("recordedIn", `expected lists of records by dtype, found ${excerpt(records)}`);
          this.recordedIn.set(dtype, records);
        }
        this.ended = true;
        return;
      default:
        throw new TraceFieldError("t", `expected a known kind of record, found ${excerpt(r["t"])}`);
    }
  }

  private op(r: TraceRecord): void {
    const { b } = this;
    expectNext("id", r["id"], b.opCount);
    const stack = this.stack(r);
    const outputs = this.outputs(r);
    const timed = r["ms"] !== undefined || r["source"] !== undefined;
    const record: OpRecord = {
      name: text(r, "name"),
      phase: oneOf(r, "phase", Phase),
      flags: r["flags"] === undefined ? 0 : flags(r),
      stack,
      scope: numberOr(r, "scope", -1),
      forwardOp: r["forwardOp"] === undefined ? -1 : index(r, "forwardOp"),
      forwardScope: numberOr(r, "forwardScope", -1),
      inputs: indices(r, "in"),
      outputs,
      writes: r["writes"] === undefined ? undefined : indices(r, "writes"),
      attributes: r["attrs"] === undefined ? undefined : attributes(r),
      line: r["line"] === undefined ? undefined : text(r, "line"),
      runtimeMs: timed ? number(r, "ms") : 0,
      runtimeSource: timed ? oneOf(r, "source", RuntimeSource) : RuntimeSource.none,
      runtimeSpreadMs: numberOr(r, "spreadMs", Number.NaN),
      runtimeRuns: numberOr(r, "runs", 0),
      flops: numberOr(r, "flops", Number.NaN),
      bytesRead: numberOr(r, "read", Number.NaN),
      bytesWritten: numberOr(r, "written", Number.NaN),
    };
    b.op(record);
  }

  /**
   * Reads the outputs of an op. A new tensor among them is an object. If the op also allocates the tensor's storage,
   * the object includes the bytes and category of that storage.
   */
  private outputs(r: TraceRecord): readonly TensorIndex[] {
    const items = list(r, "out");
    for (let i = 0; i < items.length; i++) {
      const item = items[i];
      if (Number.isInteger(item)) continue;
      if (typeof item !== "object" || item === null || Array.isArray(item))
        throw new TraceFieldError("out", `expected tensors or new tensors, found ${excerpt(item)} at ${i}`);
      try {
        if ((item as TraceRecord)["bytes"] !== undefined) this.allocate(item as TraceRecord);
        this.tensor(item as TraceRecord);
      } catch (error) {
        if (error instanceof TraceFieldError) throw new TraceFieldError(`out[${i}].${error.field}`, error.detail);
        throw error;
      }
      (items as unknown[])[i] = (item as TraceRecord)["id"];
    }
    return items as readonly TensorIndex[];
  }

  private stack(r: TraceRecord): number {
    const { b } = this;
    if (r["stack"] !== undefined) return b.stack(indices(r, "stack"));
    if (r["call"] === undefined) return 0;
    const call = index<CallIndex>(r, "call");
    if (!(Number.isInteger(call) && call >= 0 && call < b.callCount))
      throw new TraceFieldError("call", `expected a call below ${b.callCount}, found ${call}`);
    return b.stackOfCall(call);
  }

  private allocate(r: TraceRecord): void {
    expectNext("s", r["s"], this.b.storageCount);
    const device = r["device"] === undefined ? undefined : text(r, "device");
    this.b.allocate(number(r, "bytes"), device, oneOf(r, "category", Category));
  }

  private tensor(r: TraceRecord): void {
    expectNext("id", r["id"], this.b.tensorCount);
    const { dtype, shape } = this.type(r);
    this.b.tensor({
      storage: typeof r["s"] === "number" ? index(r, "s") : indices(r, "s"),
      dtype,
      shape,
      strides: r["strides"] === undefined ? undefined : integers(r, "strides"),
    });
  }

  private type(r: TraceRecord): TensorType {
    const written = text(r, "type");
    let type = this.types.get(written);
    if (type === undefined) {
      type = parseTensorType(written);
      if (type === undefined)
        throw new TraceFieldError("type", `expected dtype and shape as in float32[2,3], found ${excerpt(written)}`);
      this.types.set(written, type);
    }
    return type;
  }
}

function checkpointForm(r: TraceRecord): CheckpointForm {
  const form = r["checkpoint"];
  if (form === "nonReentrant" || form === "reentrant" || form === "replayed") return form;
  throw new TraceFieldError("checkpoint", `expected "nonReentrant", "reentrant" or "replayed", found ${excerpt(form)}`);
}

function flags(r: TraceRecord): number {
  let bits = 0;
  for (const name of list(r, "flags")) {
    if (typeof name !== "string" || !Object.hasOwn(OpFlag, name))
      throw new TraceFieldError("flags", `expected any of ${Object.keys(OpFlag).join(", ")}, found ${excerpt(name)}`);
    bits |= OpFlag[name as keyof typeof OpFlag];
  }
  return bits;
}

function attributes(r: TraceRecord): TraceRecord {
  const value = r["attrs"];
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new TraceFieldError("attrs", `expected an object, found ${excerpt(value)}`);
  return value as TraceRecord;
}
