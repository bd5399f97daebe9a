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
 * A dispatch mode that counts the bytes alive, by buffer (architecture rule 7). What was there before counts from the beginning, as soon as an op
 * reads it: it has been there all the time.
 *
 * @example
 * const meter = new MemoryMeter();
 * withDispatchMode(meter, () => optimizer.minimize(loss));
 * console.log(meter.peakBytes);
 */
export class MemoryMeter implements DispatchObserver {
  readonly looksInPassing = true;
  readonly allocationUnitBytes: number;
  private live = 0;
  private peak = 0;
  private knownPeak = 0;
  private found = 0;
  private readonly known: Set<Storage>;

  /** @param from `allocationUnitBytes`: each buffer counts as a multiple of this many bytes, 1 if not given; or a meter, whose count is taken over. */
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

  /** The most that were alive at any moment since the mode opened, or since `reset`. */
  get peakBytes(): number {
    return this.peak;
  }

  /** The same, but that what an op meets later does not count for the time before: it counts from the next that is made on. @internal */
  get knownPeakBytes(): number {
    return this.knownPeak;
  }

  /** Bytes that turned out to be there already when an op read them. */
  get foundBytes(): number {
    return this.found;
  }

  /** From here on the peak is that of what is alive now, and later. */
  reset(): void {
    this.peak = this.knownPeak = this.live;
  }

  /** What an op is about to read. @internal */
  countInputs(inputs: KernelInputs): void {
    forEachInput(inputs, this.countTensor);
  }

  /** A tensor that was made while nobody counted: it is there now. @internal */
  readonly learn = (tensor: Tensor): void => eachStorageOf(tensor, this.learnStorage);

  private readonly learnStorage = (storage: Storage): void => {
    if (!this.known.has(storage)) this.storageAllocated(storage);
  };

  /** As much was alive at some moment while nobody counted. @internal */
  raise(bytes: number): void {
    this.peak = Math.max(this.peak, bytes);
    this.knownPeak = Math.max(this.knownPeak, bytes);
  }

  private readonly countTensor = (tensor: Tensor): void => eachStorageOf(tensor, this.findStorage);
  private readonly findStorage = (storage: Storage): void => this.find(storage);

  /** Tensors that are there already, e.g. weights: so that they count even if no op reads them. */
  count(tensors: Iterable<Tensor>): void {
    for (const tensor of tensors) for (const storage of storagesOf(tensor)) this.find(storage);
  }

  opStarting({ inputs }: OpCall): void {
    forEachInput(inputs, this.meet);
  }

  private readonly meet = (tensor: Tensor): void => eachStorageOf(tensor, this.meetStorage);
  private readonly meetStorage = (storage: Storage): void => {
    if (!storage.fresh) this.find(storage);
  };

  storageAllocated(storage: Storage): void {
    this.known.add(storage);
    this.live += this.sizeOf(storage.bytes);
    this.rise();
  }

  storageReleased(storage: Storage): void {
    if (this.known.delete(storage) && this.isThere(storage)) this.live -= this.sizeOf(storage.bytes);
  }

  storageResized(storage: Storage, bytes: number): void {
    if (!this.known.has(storage)) return;
    this.live += bytes > 0 ? this.sizeOf(bytes) : -this.sizeOf(storage.bytes);
    this.rise();
  }

  /** Whether it counts. */
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
 * Runs `fn`, synchronous or not, and tells the most bytes that were alive meanwhile, by buffer: the tensors `weights`, what else ops read, and
 * what they make.
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
