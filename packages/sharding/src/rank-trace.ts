import {
  type CallIndex,
  Category,
  type OpIndex,
  Phase,
  type Rows,
  row,
  type StorageIndex,
  type TensorIndex,
  type Trace,
  type TraceBuilder,
  TraceCopy,
} from "@remat/trace";

/** A storage that FSDP allocates. */
export interface NewStorage {
  readonly bytes: number;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Device of the storage. Default: the device of the trace. */
  readonly device?: string;
}

/** The dtypes and shapes that a plan gives to tensors of the source. */
export interface DescribedTensors {
  dtypeOf(tensor: TensorIndex): string;
  shapeOf(tensor: TensorIndex): readonly number[];
}

/** Writes the trace of one rank while the unsharded trace is read. */
export class RankTrace {
  readonly builder: TraceBuilder;
  /**
   * The device of offloaded storages. A run on the CPU stands for a run on a GPU, so in that case offloaded storages
   * need another name.
   */
  readonly offloadDevice: string;
  private readonly source: Trace;
  private readonly copy: TraceCopy;
  private readonly isResized: boolean;
  /** For each storage of the source, its counterpart here, or -1. */
  private readonly storageFor: Int32Array;
  private readonly tensorFor: Int32Array;
  /** For each tensor of the source, the storage of its counterpart here. */
  private readonly tensorStorage: Int32Array;
  private readonly live = new Set<number>();
  /** The stack of the last op of the source. */
  private lastStack = 0;
  private readonly stacks = new Map<number, number>();
  private isOutside = false;

  /** @param isResized whether tensors have other sizes than in the source, as in a lower precision */
  constructor(source: Trace, notes: readonly string[], isResized: boolean) {
    this.source = source;
    this.isResized = isResized;
    this.copy = new TraceCopy(source, notes);
    this.builder = this.copy.builder;
    this.offloadDevice = /^cpu(:|$)/.test(source.header.device) ? "host" : "cpu";
    this.storageFor = new Int32Array(source.storages.count).fill(-1);
    this.tensorFor = new Int32Array(source.tensors.count).fill(-1);
    this.tensorStorage = new Int32Array(source.tensors.count).fill(-1);
  }

  /** Allocates a storage that no op creates. */
  allocate(bytes: number, device: string | undefined, category: number): number {
    const storage = this.builder.allocate(bytes, device, category);
    this.live.add(storage);
    return storage;
  }

  free(storage: StorageIndex): void {
    if (this.live.delete(storage)) this.builder.free(storage);
  }

  isLive(storage: StorageIndex): boolean {
    return this.live.has(storage);
  }

  /** From now on, uses `storage` as the counterpart of the source's storage `of`. */
  stand(storage: StorageIndex, of: number): void {
    this.storageFor[of] = storage;
  }

  standsFor(of: number): number {
    return this.storageFor[of];
  }

  /** Runs `work` with no module active, as after the backward pass. */
  outsideModules(work: () => void): void {
    this.isOutside = true;
    work();
    this.isOutside = false;
  }

  /** Writes an op of FSDP, and returns the storages of its results. */
  fsdpOp(name: string, phase: number, call: CallIndex, results: readonly NewStorage[] = []): number[] {
    const category = phase === Phase.backward ? Category.temporary : Category.activation;
    const storages = results.map(({ bytes, device }) => this.allocate(bytes, device, category));
    const outputs = results.map(({ dtype, shape }, i) => this.builder.tensor({ storage: storages[i], dtype, shape }));
    this.builder.op({ name, phase, stack: this.stackOf(call, phase), outputs });
    return storages;
  }

  /**
   * Returns the stack of an op of FSDP. In the backward pass a module stays active until the hooks on its inputs'
   * gradients have run, and FSDP uses such hooks.
   */
  private stackOf(call: CallIndex, phase: number): number {
    if (this.isOutside) return 0;
    const stack = this.builder.stackOfCall(call);
    if (phase !== Phase.backward || this.lastStack === 0) return stack;
    const key = this.lastStack * this.source.calls.count + call;
    let known = this.stacks.get(key);
    if (known === undefined) {
      const calls = new Set(row(this.source.stacks, this.lastStack));
      for (let c = call; c >= 0; c = this.source.calls.parent[c]) calls.add(c);
      this.stacks.set(key, (known = this.builder.stack([...calls].sort((a, b) => a - b))));
    }
    return known;
  }

  /** Writes an op of the source with the counterparts of its tensors. */
  copyOp(op: OpIndex, described: DescribedTensors): void {
    this.lastStack = this.source.ops.stack[op];
    const { inputs, outputs } = this.source.ops;
    this.copy.op(op, {
      inputs: this.tensorsIn(inputs, op, described),
      outputs: this.tensorsIn(outputs, op, described),
      isResized: this.isResized,
    });
  }

  /** Returns the counterparts of the source's tensors in a row, without tensors whose storage has no counterpart. */
  tensorsIn({ start, values }: Rows, i: number, described: DescribedTensors): number[] {
    const here: number[] = [];
    for (let at = start[i]; at < start[i + 1]; at++) {
      const tensor = values[at];
      const storage = this.storageFor[this.source.tensors.storage[tensor]];
      if (storage < 0) continue;
      if (this.tensorStorage[tensor] !== storage) {
        this.tensorStorage[tensor] = storage;
        this.tensorFor[tensor] = this.builder.tensor({
          storage,
          dtype: described.dtypeOf(tensor),
          shape: described.shapeOf(tensor),
        });
      }
      here.push(this.tensorFor[tensor]);
    }
    return here;
  }
}
