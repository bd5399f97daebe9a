import {
  currentBackend,
  forEachInput,
  type KernelAttributes,
  type KernelInputs,
  type OpDone,
} from "@remat/dispatch-hook";
import { kernelPeakBytes, surelyFits } from "@remat/dispatch-hook/fake";
import { Phase } from "@remat/trace";
import { formatBytes } from "@remat/trace/text";
import { errorOf, orSmallerPass, type Shortage } from "../budget/shortage.js";
import type { Policy } from "../executor/executor.js";
import type { Ledger } from "../executor/ledger.js";
import type { Recipe, StoredBuffer } from "../executor/stored-data.js";
import { unknownScratchBytes } from "../update/rehearsal-backend.js";
import { ComingWork, type LaterSteps } from "./coming-work.js";
import { Victims } from "./victims.js";
import { worstCaseOf } from "./worst-case.js";

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
  /** Called instead of rejecting an op. Returns whether the pass continues, so that it fails at its end. */
  overrun(shortage: Shortage): boolean;
  /** True if the pass fails at its end, because an op did not fit. */
  isOverrun(): boolean;
  /** True if nothing will have to be evicted, so that inputs for recomputation need not be kept. */
  isRoomy(): boolean;
  /** Memory for this many more bytes is available. */
  roomMade(bytes: number): void;
}

const noOutlook: Outlook = {
  settle: () => {},
  lift: () => false,
  overrun: () => false,
  isOverrun: () => false,
  isRoomy: () => false,
  roomMade: () => {},
};

/** The budget in force. */
interface Limit {
  /** Bytes that may be alive. */
  readonly limitBytes: number;
  /** The budget without what a pass may use that exceeds it. Default: the limit. */
  readonly bytes?: number | undefined;
}

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
  /** Bytes freed in this pass that other evictions might have kept. */
  private freedBytes = 0;
  /** The most that an op of this pass may need, in bytes, whatever is evicted. */
  private worstBytes = 0;
  /** How many buffers were looked at so far to find that out. */
  private lookedAt = 0;
  private readonly coming: ComingWork = new ComingWork();

  /** May change between passes. */
  private readonly limit: Limit;
  private readonly meter: LiveBytes;
  /** True to reject an op that does not fit. Otherwise it runs anyway. */
  private readonly isStrict: boolean;
  private readonly outlook: Outlook;

  constructor(limit: Limit, meter: LiveBytes, isStrict: boolean = true, outlook: Outlook = noOutlook) {
    this.limit = limit;
    this.meter = meter;
    this.isStrict = isStrict;
    this.outlook = outlook;
  }

  passStarting(ledger: Ledger): void {
    this.ledger = ledger;
    this.freedBytes = this.worstBytes = 0;
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
    this.coming.expectOp(kernel, inputs);
    const roomBytes = this.limit.limitBytes - this.meter.liveBytes;
    const backend = currentBackend();
    if (roomBytes === Number.POSITIVE_INFINITY) return;
    if (this.isStrict) this.addWorstCase(kernel, inputs, attributes);
    if (surelyFits(backend, kernel, inputs, roomBytes)) return;
    const bytes = kernelPeakBytes(backend, kernel, inputs, attributes);
    if (bytes !== undefined && bytes > 0) this.makeRoom(bytes);
  }

  /**
   * With the budget that an error names, the op must fit whatever was evicted before it. Errors are rare, so before one
   * this takes a limited time.
   */
  private addWorstCase(kernel: string, inputs: KernelInputs, attributes: KernelAttributes | undefined): void {
    const { ledger, meter, outlook } = this;
    const isOverrun = outlook.isOverrun();
    if (ledger === undefined || ledger.evictionCount === 0 || (!isOverrun && this.lookedAt > mostLookedAt)) return;
    const read = new Set<StoredBuffer>();
    forEachInput(inputs, ({ dataId }) => {
      const buffer = ledger.get(dataId)?.buffer;
      if (buffer !== undefined) read.add(buffer);
    });
    const { recomputingBytes, readyBytes, lookedAt } = worstCaseOf(meter.liveBytes, ledger.allBuffers, read);
    this.lookedAt += lookedAt;
    const bytes = kernelPeakBytes(currentBackend(), kernel, inputs, attributes) ?? 0;
    const neededBytes = Math.max(recomputingBytes, readyBytes + bytes) + this.freedBytes;
    this.worstBytes = Math.max(this.worstBytes, neededBytes);
    if (isOverrun && neededBytes > this.limit.limitBytes) this.reject(this.shortageOf(bytes, neededBytes - bytes));
  }

  /** The output of an unwatched op may already exceed the budget. */
  opUnforeseen(kernel: string, inputs: KernelInputs): void {
    this.coming.expectOp(kernel, inputs);
    this.makeRoom(0);
  }

  dataComing(bytes: number): void {
    this.coming.expectData(bytes);
    this.makeRoom(bytes);
  }

  /**
   * Makes memory available for a weight update that needs this many more bytes and frees nothing. If that fails, `later`
   * returns what the steps after it need.
   */
  updateComing(optimizer: object, bytes: number, later: () => LaterSteps): void {
    this.coming.expectUpdate(optimizer, later);
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
    return this.ledger?.hasBufferOf(outputs) === true;
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
      else if (ledger !== undefined && !this.outlook.isOverrun() && this.freeOne(ledger)) continue;
      else if (this.isEnding) return;
      else if (this.outlook.lift(meter.liveBytes + bytes)) continue;
      else if (!this.isStrict) return;
      else this.reject(this.shortageOf(bytes, meter.liveBytes));
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
      if (!buffer.isEvicted && !buffer.isUsed && buffer.bytes > 0 && this.free(buffer, ledger)) return true;
    return false;
  }

  private free(buffer: StoredBuffer, ledger: Ledger): boolean {
    const { bytes } = buffer;
    if (!ledger.free(buffer)) return false;
    this.freedBytes += bytes;
    return true;
  }

  private reject(shortage: Shortage): void {
    if (!this.outlook.overrun(shortage)) throw errorOf(shortage, this.coming.isOfUpdate);
  }

  private shortageOf(bytes: number, heldBytes: number): Shortage {
    const { coming, limit } = this;
    const op = coming.describe();
    const problem =
      `${op} needs ${formatBytes(bytes)} besides ${formatBytes(heldBytes)} that cannot be evicted, ` +
      `more than the budget of ${formatBytes(limit.bytes ?? limit.limitBytes)}.`;
    const neededBytes = heldBytes + bytes;
    if (!coming.isOfUpdate)
      return { problem, op, neededBytes: Math.max(neededBytes, this.worstBytes), otherwise: orSmallerPass };
    const later = coming.later();
    const forUpdates = Math.max(neededBytes, later.updateBytes);
    const isLeast = forUpdates >= later.passBytes;
    return {
      problem: `${problem} Nothing can be evicted during an update${isLeast ? `, so ${nothingLessDoes()}` : ""}.`,
      op,
      neededBytes: Math.max(forUpdates, later.passBytes),
      otherwise: ", or keep fewer other tensors.",
    };
  }
}

/** The most buffers to look at before an error. Errors come in first steps, so later steps take no time for this. */
const mostLookedAt = 20_000;

/** Some backends have unknown scratch memory, for which an allowance is added. */
const nothingLessDoes = (): string =>
  unknownScratchBytes(1) === 0 ? "no smaller budget is enough" : "no much smaller budget is enough";
