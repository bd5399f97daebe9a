import {
  type DispatchObserver,
  eachStorageOf,
  forEachInput,
  type KernelInputs,
  type OpCall,
  type Storage,
  storagesOf,
  withDispatchMode,
} from "@remat/dispatch-hook";
import { roundUpBytes } from "@remat/memory";
import type { Tensor } from "@tensorflow/tfjs-core";

/**
 * A dispatch mode that counts live bytes. Tensors that share a buffer count once. A buffer that existed before the mode
 * opened counts once an op reads it. It then counts as if it had been known from the start.
 *
 * @example
 * const meter = new MemoryMeter();
 * withDispatchMode(meter, () => optimizer.minimize(loss));
 * console.log(meter.peakBytes);
 */
export class MemoryMeter implements DispatchObserver {
  /** Always true. See `looksInPassing` of `DispatchObserver`. */
  readonly looksInPassing = true;
  /** Each buffer is rounded up to a multiple of this many bytes. */
  readonly allocationUnitBytes: number;
  private live = 0;
  private peak = 0;
  private knownPeak = 0;
  private found = 0;
  private readonly known: Set<Storage>;

  /**
   * @param from `allocationUnitBytes`: each buffer counts as a multiple of this many bytes, 1 by default; or a meter
   * whose count is continued
   */
  constructor(from: { readonly allocationUnitBytes?: number } | MemoryMeter = {}) {
    const { allocationUnitBytes = 1 } = from;
    this.allocationUnitBytes = allocationUnitBytes;
    const isMeter = from instanceof MemoryMeter;
    this.known = new Set(isMeter ? from.known : []);
    if (isMeter) this.live = this.peak = this.knownPeak = from.live;
  }

  /** Bytes alive now. */
  get liveBytes(): number {
    return this.live;
  }

  /** Peak memory in bytes since the mode opened, or since `reset`. */
  get peakBytes(): number {
    return this.peak;
  }

  /** Peak memory without retroactive counts: data met later counts only from the next allocation on. @internal */
  get knownPeakBytes(): number {
    return this.knownPeak;
  }

  /** Bytes of buffers that were unknown to the meter until an op read them. */
  get foundBytes(): number {
    return this.found;
  }

  /** Restarts the peak from the current live bytes. */
  reset(): void {
    this.peak = this.knownPeak = this.live;
  }

  /** Counts the inputs of the next op. @internal */
  countInputs(inputs: KernelInputs): void {
    forEachInput(inputs, this.countTensor);
  }

  /** Counts a tensor made while nothing was counting. @internal */
  readonly learn = (tensor: Tensor): void => eachStorageOf(tensor, this.learnStorage);

  private readonly learnStorage = (storage: Storage): void => {
    if (!this.known.has(storage)) this.storageAllocated(storage);
  };

  /** Raises the peak to a value reached while nothing was counting. @internal */
  raise(bytes: number): void {
    this.peak = Math.max(this.peak, bytes);
    this.knownPeak = Math.max(this.knownPeak, bytes);
  }

  private readonly countTensor = (tensor: Tensor): void => eachStorageOf(tensor, this.findStorage);
  private readonly findStorage = (storage: Storage): void => this.find(storage);

  /** Counts tensors that already exist, such as weights, even if no op reads them. */
  count(tensors: Iterable<Tensor>): void {
    for (const tensor of tensors) for (const storage of storagesOf(tensor)) this.find(storage);
  }

  /** Counts the inputs of an op. */
  opStarting({ inputs }: OpCall): void {
    forEachInput(inputs, this.meet);
  }

  private readonly meet = (tensor: Tensor): void => eachStorageOf(tensor, this.meetStorage);
  private readonly meetStorage = (storage: Storage): void => {
    if (!storage.fresh) this.find(storage);
  };

  /** Adds a new storage. */
  storageAllocated(storage: Storage): void {
    this.known.add(storage);
    this.live += this.sizeOf(storage.bytes);
    this.rise();
  }

  /** Subtracts a freed storage. */
  storageReleased(storage: Storage): void {
    if (this.known.delete(storage) && this.isThere(storage)) this.live -= this.sizeOf(storage.bytes);
  }

  /** Counts the change in size of a storage, such as an eviction. */
  storageResized(storage: Storage, bytes: number): void {
    if (!this.known.has(storage)) return;
    this.live += bytes > 0 ? this.sizeOf(bytes) : -this.sizeOf(storage.bytes);
    this.rise();
  }

  /** True if the storage counts. */
  protected isThere({ isEvicted }: Storage): boolean {
    return !isEvicted;
  }

  private find(storage: Storage): void {
    if (this.known.has(storage)) return;
    this.known.add(storage);
    const bytes = this.sizeOf(storage.bytes);
    this.live += bytes;
    this.peak += bytes;
    this.found += bytes;
  }

  private rise(): void {
    if (this.live > this.peak) this.peak = this.live;
    if (this.live > this.knownPeak) this.knownPeak = this.live;
  }

  private sizeOf(bytes: number): number {
    return roundUpBytes(bytes, this.allocationUnitBytes);
  }
}

/**
 * Runs `fn`, synchronous or not, and returns its peak memory in bytes, counted by buffer. It covers the tensors in
 * `weights`, everything that ops read, and everything they make.
 *
 * @example
 * const { peakBytes } = await measurePeakBytes(() => model.trainOnBatch(x, y), model.weights.map((weight) => weight.read()));
 */
export async function measurePeakBytes<T>(
  fn: () => T | Promise<T>,
  weights: Iterable<Tensor> = [],
): Promise<{ result: T; peakBytes: number }> {
  const meter = new MemoryMeter();
  const result = await withDispatchMode(meter, () => {
    meter.count(weights);
    return fn();
  });
  return { result, peakBytes: meter.peakBytes };
}
