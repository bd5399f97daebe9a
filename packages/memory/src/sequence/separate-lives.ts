import { EventKind, type Rows, type StorageIndex, type TensorIndex, Trace } from "@remat/trace";

/** A trace in which each storage has only one life. */
export interface SeparateLives {
  /** The trace has the ops, calls and strings of the original. It may have more storages and tensors. */
  readonly trace: Trace;
  /**
   * For each storage, 1 if a resize began its life. Such a storage counts as created by no op, because only the engine
   * can begin its life again.
   */
  readonly isResumed: Uint8Array;
}

/**
 * Returns `trace` with every resize from or to zero bytes replaced by the end of one storage and the beginning of
 * another. FSDP keeps the storage of an unsharded parameter during the whole step and resizes it to zero while the
 * parameter is resharded. Only separate lives therefore show which parameters are in memory at the same time. A trace
 * without such a resize is returned unchanged.
 */
export function separateLives(trace: Trace): SeparateLives {
  const { events, storages } = trace;
  let hasResize = false;
  for (let e = 0; e < events.count && !hasResize; e++) hasResize = events.kind[e] === EventKind.resize;
  if (!hasResize) return { trace, isResumed: new Uint8Array(storages.count) };
  return new LifeSeparator(trace).run();
}

class LifeSeparator {
  private readonly trace: Trace;
  /** For each storage of the trace, its current life, and the bytes and category of that life. */
  private readonly life: Int32Array;
  private readonly bytesNow: Float64Array;
  private readonly categoryNow: Uint8Array;
  /** Columns of the lives that resizes began. */
  private readonly bytes: number[] = [];
  private readonly device: number[] = [];
  private readonly category: number[] = [];
  /** For each life and tensor, the tensor on that life. */
  private readonly tensorOn = new Map<string, number>();
  /** The added tensors: the original of each, and its storages. */
  private readonly copies: { readonly tensor: number; readonly storages: readonly number[] }[] = [];
  private readonly kinds: number[] = [];
  private readonly subjects: number[] = [];
  private readonly values: number[] = [];

  constructor(trace: Trace) {
    const { storages } = trace;
    this.trace = trace;
    this.life = Int32Array.from({ length: storages.count }, (_, storage) => storage);
    this.bytesNow = storages.bytes.slice(0, storages.count);
    this.categoryNow = storages.category.slice(0, storages.count);
  }

  run(): SeparateLives {
    const { trace, life } = this;
    const { count, kind, subject, value } = trace.events;
    const inputs = trace.ops.inputs.values.slice();
    const outputs = trace.ops.outputs.values.slice();
    const writes = trace.ops.writes.values.slice();
    for (let e = 0; e < count; e++) {
      const item = subject[e];
      switch (kind[e]) {
        case EventKind.resize:
          this.resize(item, value[e]);
          break;
        case EventKind.categorize:
          this.categoryNow[item] = value[e];
          this.push(EventKind.categorize, life[item], value[e]);
          break;
        case EventKind.allocate:
        case EventKind.free:
          this.push(kind[e], life[item], value[e]);
          break;
        default:
          if (kind[e] === EventKind.op) {
            this.moveRow(trace.ops.inputs, inputs, item);
            this.moveRow(trace.ops.outputs, outputs, item);
            this.moveRow(trace.ops.writes, writes, item);
          }
          this.push(kind[e], item, value[e]);
      }
    }
    const isResumed = new Uint8Array(trace.storages.count + this.bytes.length);
    isResumed.fill(1, trace.storages.count);
    return { trace: this.build(inputs, outputs, writes), isResumed };
  }

  private resize(storage: StorageIndex, bytes: number): void {
    const before = this.bytesNow[storage];
    this.bytesNow[storage] = bytes;
    if (before > 0 && bytes > 0) return this.push(EventKind.resize, this.life[storage], bytes);
    if (before === bytes) return;
    this.push(EventKind.free, this.life[storage], 0);
    this.life[storage] = this.trace.storages.count + this.bytes.length;
    this.bytes.push(bytes);
    this.device.push(this.trace.storages.device[storage]);
    this.category.push(this.categoryNow[storage]);
    this.push(EventKind.allocate, this.life[storage], 0);
  }

  private push(kind: number, subject: number, value: number): void {
    this.kinds.push(kind);
    this.subjects.push(subject);
    this.values.push(value);
  }

  private moveRow({ start }: Rows, values: Int32Array, row: number): void {
    for (let i = start[row]; i < start[row + 1]; i++) values[i] = this.tensorNow(values[i]);
  }

  /** Returns `tensor`, or its copy on the current lives of its storages. */
  private tensorNow(tensor: TensorIndex): number {
    const storages = this.trace.tensorStorages(tensor);
    const lives = storages.map((storage) => this.life[storage]);
    if (lives.every((life, i) => life === storages[i])) return tensor;
    const key = `${tensor} ${lives.join()}`;
    let copy = this.tensorOn.get(key);
    if (copy === undefined) {
      copy = this.trace.tensors.count + this.copies.push({ tensor, storages: lives }) - 1;
      this.tensorOn.set(key, copy);
    }
    return copy;
  }

  private build(inputs: Int32Array, outputs: Int32Array, writes: Int32Array): Trace {
    const { trace, copies } = this;
    const { storages, tensors, ops } = trace;
    const of = copies.map(({ tensor }) => tensor);
    const moreStorages = new Map(tensors.moreStorages);
    copies.forEach(({ storages: lives }, i) => {
      if (lives.length > 1) moreStorages.set(tensors.count + i, lives);
    });
    return new Trace({
      ...trace,
      ops: {
        ...ops,
        inputs: { ...ops.inputs, values: inputs },
        outputs: { ...ops.outputs, values: outputs },
        writes: { ...ops.writes, values: writes },
      },
      storages: {
        count: storages.count + this.bytes.length,
        bytes: Float64Array.from([...storages.bytes.subarray(0, storages.count), ...this.bytes]),
        device: Int32Array.from([...storages.device.subarray(0, storages.count), ...this.device]),
        category: Uint8Array.from([...storages.category.subarray(0, storages.count), ...this.category]),
      },
      tensors: {
        count: tensors.count + copies.length,
        storage: Int32Array.from([
          ...tensors.storage.subarray(0, tensors.count),
          ...copies.map(({ storages: lives }) => lives[0]),
        ]),
        dtype: Int32Array.from([...tensors.dtype.subarray(0, tensors.count), ...of.map((t) => tensors.dtype[t])]),
        shape: withRows(tensors.shape, tensors.count, of),
        strides: withRows(tensors.strides, tensors.count, of),
        moreStorages,
      },
      events: {
        count: this.kinds.length,
        kind: Uint8Array.from(this.kinds),
        subject: Int32Array.from(this.subjects),
        value: Float64Array.from(this.values),
      },
    });
  }
}

/** Returns the first `count` rows, followed by a copy of each row of `more`. */
function withRows({ start, values }: Rows<Float64Array>, count: number, more: readonly number[]): Rows<Float64Array> {
  const starts = [...start.subarray(0, count + 1)];
  const added: number[] = [];
  for (const row of more) {
    added.push(...values.subarray(start[row], start[row + 1]));
    starts.push(start[count] + added.length);
  }
  return { start: Int32Array.from(starts), values: Float64Array.from([...values.subarray(0, start[count]), ...added]) };
}
