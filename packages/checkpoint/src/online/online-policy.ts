import {
  currentBackend,
  type KernelAttributes,
  type KernelInputs,
  type OpDone,
  storagesOf,
} from "@remat/dispatch-hook";
import { kernelPeakBytes, surelyFits } from "@remat/dispatch-hook/fake";
import { Phase } from "@remat/trace";
import { formatBytes, formatTypedBytes } from "@remat/trace/text";
import { BudgetError } from "../budget-error.js";
import type { Policy } from "../executor/executor.js";
import type { Ledger } from "../executor/ledger.js";
import type { Recipe, StoredBuffer } from "../executor/stored-data.js";
import { unknownScratchBytes } from "../update/rehearsal-backend.js";
import { ComingWork } from "./coming-work.js";
import { Victims } from "./victims.js";

/** Bytes alive now, by buffer. */
interface LiveBytes {
  readonly liveBytes: number;
}

/** Knowledge of the pass beyond the ops so far. */
interface Outlook {
  /** Frees memory that waits for queued kernels. Called before anything is evicted. */
  settle(): void;
  /** Called before an op that needs `neededBytes` in total is rejected. Returns whether the budget has grown. */
  lift(neededBytes: number): boolean;
  /** True if nothing will have to be evicted, so that inputs for recomputation need not be kept. */
  isRoomy(): boolean;
  /** Memory for this many more bytes is available. */
  roomMade(bytes: number): void;
}

const noOutlook: Outlook = { settle: () => {}, lift: () => false, isRoomy: () => false, roomMade: () => {} };

/**
 * Keeps live bytes within a budget without a plan. Before an op runs, it makes memory available by evicting buffers
 * that are large, have not been used for long and are cheap to recompute.
 *
 * Source: dynamic tensor rematerialization (Kirisame et al., 2021), h_DTR including the evicted neighbours that
 * recomputation needs.
 *
 * @internal
 */
export class OnlinePolicy implements Policy {
  private ledger: Ledger | undefined;
  private clock = 0;
  private readonly lastUse = new Map<StoredBuffer, number>();
  /**
   * For each evicted buffer, its recomputation time in milliseconds at the time of eviction: its own kernel plus other
   * evicted inputs.
   */
  private readonly recomputeMs = new Map<StoredBuffer, number>();
  private readonly victims = new Victims();
  private isEnding = false;
  private readonly coming: ComingWork = new ComingWork();

  /** May change between passes. */
  private readonly limit: { readonly limitBytes: number };
  private readonly meter: LiveBytes;
  /** True to reject an op that does not fit. Otherwise it runs anyway. */
  private readonly isStrict: boolean;
  private readonly outlook: Outlook;

  constructor(
    limit: { readonly limitBytes: number },
    meter: LiveBytes,
    isStrict: boolean = true,
    outlook: Outlook = noOutlook,
  ) {
    this.limit = limit;
    this.meter = meter;
    this.isStrict = isStrict;
    this.outlook = outlook;
  }

  passStarting(ledger: Ledger): void {
    this.ledger = ledger;
  }

  /** The ledger recomputes data of surviving tensors, which must not be evicted any more. */
  passOver(): void {
    this.isEnding = true;
    this.lastUse.clear();
    this.recomputeMs.clear();
    this.victims.clear();
  }

  /** Nothing can be evicted from here on, but the budget still applies. */
  passEnded(): void {
    this.ledger = undefined;
    this.isEnding = false;
  }

  opComing(kernel: string, inputs: KernelInputs, attributes: KernelAttributes | undefined): void {
    this.coming.isOp(kernel, inputs);
    const roomBytes = this.limit.limitBytes - this.meter.liveBytes;
    const backend = currentBackend();
    if (roomBytes === Number.POSITIVE_INFINITY || surelyFits(backend, kernel, inputs, roomBytes)) return;
    const bytes = kernelPeakBytes(backend, kernel, inputs, attributes);
    if (bytes !== undefined && bytes > 0) this.makeRoom(bytes);
  }

  /** The output of an unwatched op may already exceed the budget. */
  opUnforeseen(kernel: string, inputs: KernelInputs): void {
    this.coming.isOp(kernel, inputs);
    this.makeRoom(0);
  }

  dataComing(bytes: number): void {
    this.coming.isData(bytes);
    this.makeRoom(bytes);
  }

  /** Makes memory available for a weight update that needs this many more bytes and frees nothing. */
  updateComing(optimizer: object, bytes: number): void {
    this.coming.isUpdate(optimizer);
    this.makeRoom(bytes);
  }

  /** True if this many more bytes fit in the current budget. */
  hasRoom(bytes: number): boolean {
    return this.meter.liveBytes + bytes <= this.limit.limitBytes;
  }

  /**
   * Outputs of the backward pass are needed soon, or are results. Only views of known buffers matter, since they are
   * evicted with them.
   */
  isNoted({ phase, outputs }: OpDone): boolean {
    if (phase === Phase.forward) return true;
    const { ledger } = this;
    return outputs.some((output) => storagesOf(output).some((storage) => ledger?.bufferOf(storage) !== undefined));
  }

  opOver({ inputTensors, outputs }: Pick<OpDone, "inputTensors" | "outputs">): void {
    const { ledger } = this;
    if (ledger === undefined) return;
    const now = this.clock++;
    for (const { dataId } of inputTensors) this.use(ledger.get(dataId)?.buffer, now);
    for (const { dataId } of outputs) this.use(ledger.get(dataId)?.buffer, now);
    // The outputs of this op could not be predicted.
    if (this.meter.liveBytes > this.limit.limitBytes) this.makeRoom(0);
  }

  /** Only recipes read the buffer, and replaying them recomputes it. */
  bufferUnused(buffer: StoredBuffer): void {
    if (buffer.isEvictable) this.evict(buffer);
    else if (this.outlook.isRoomy()) this.ledger?.free(buffer);
  }

  replaying({ kernel, inputs, attributes, sources, outputs }: Recipe): void {
    const evicted = new Set<StoredBuffer>();
    for (const data of outputs) if (data?.buffer.isEvicted === true) evicted.add(data.buffer);
    let bytes = 0;
    for (const buffer of evicted) bytes += buffer.bytes;
    if (kernel !== "")
      bytes = Math.max(bytes, kernelPeakBytes(currentBackend(), kernel, inputs as KernelInputs, attributes) ?? 0);
    for (const { buffer } of sources) buffer.locks++;
    try {
      this.makeRoom(bytes);
    } finally {
      for (const { buffer } of sources) buffer.locks--;
    }
    for (const buffer of evicted) {
      this.recomputeMs.delete(buffer);
      this.use(buffer, this.clock);
    }
  }

  private use(buffer: StoredBuffer | undefined, now: number): void {
    if (buffer !== undefined) this.lastUse.set(buffer, now);
  }

  private makeRoom(bytes: number): void {
    const { ledger, meter } = this;
    if (meter.liveBytes + bytes > this.limit.limitBytes) this.outlook.settle();
    while (meter.liveBytes + bytes > this.limit.limitBytes) {
      const victim = ledger === undefined ? undefined : this.victims.next(ledger, this.clock, this.scoreOf);
      if (victim !== undefined) this.evict(victim);
      else if (ledger !== undefined && this.freeOne(ledger)) continue;
      else if (this.isEnding) return;
      else if (this.outlook.lift(meter.liveBytes + bytes)) continue;
      else if (!this.isStrict) return;
      else this.fail(bytes);
    }
    if (bytes > 0) this.outlook.roomMade(bytes);
  }

  /** Buffers with the lowest score are evicted first. Infinite for buffers that cannot be evicted. */
  private readonly scoreOf = (buffer: StoredBuffer): number => {
    if (!buffer.isEvictable || buffer.bytes === 0 || (this.isEnding && buffer.isUsed)) return Number.POSITIVE_INFINITY;
    const staleness = this.clock - (this.lastUse.get(buffer) ?? 0) + 1;
    return this.costOf(buffer) / (buffer.bytes * staleness);
  };

  /** Never 0, so that among buffers that cost nothing to recompute, large and stale ones are evicted first. */
  private costOf({ data }: StoredBuffer): number {
    const maker = data[0]?.maker;
    if (maker === undefined) return Number.POSITIVE_INFINITY;
    let ms = maker.costMs + 1e-3;
    for (const { buffer } of maker.sources) if (buffer.isEvicted) ms += this.recomputeMs.get(buffer) ?? 0;
    return ms;
  }

  private evict(buffer: StoredBuffer): void {
    this.recomputeMs.set(buffer, this.costOf(buffer));
    this.ledger?.evict(buffer);
  }

  /** Frees a buffer that only serves to recompute data that is in memory anyway. */
  private freeOne(ledger: Ledger): boolean {
    for (const buffer of ledger.allBuffers)
      if (!buffer.isEvicted && !buffer.isUsed && buffer.bytes > 0 && ledger.free(buffer)) return true;
    return false;
  }

  private fail(bytes: number): never {
    const { coming, meter } = this;
    const { limitBytes: budgetBytes } = this.limit;
    const needed = meter.liveBytes + bytes;
    const current = coming.describe();
    const room = formatTypedBytes(needed);
    const advice = coming.isOfUpdate
      ? `Nothing can be evicted during an update, so ${nothingLessDoes()}. Raise the budget to ${room} or more, or keep fewer other tensors.`
      : `Raise the budget to ${room} or more (a later op may need more), pass a plan, which may need less, or use a smaller batch.`;
    throw new BudgetError(
      `${current} needs ${formatBytes(bytes)} besides ${formatBytes(meter.liveBytes)} that cannot be evicted, ` +
        `more than the budget of ${formatBytes(budgetBytes)}. ${advice}`,
      needed,
      current,
    );
  }
}

/** Some backends have unknown scratch memory, for which an allowance is added. */
const nothingLessDoes = (): string =>
  unknownScratchBytes(1) === 0 ? "no smaller budget is enough" : "no much smaller budget is enough";
