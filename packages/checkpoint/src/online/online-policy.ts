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

/** Bytes that are alive now, by buffer. */
interface LiveBytes {
  readonly liveBytes: number;
}

/** Who knows more of the pass than its ops so far. */
interface Outlook {
  /** Frees what waits for kernels that are queued: asked before room is made by other means. */
  settle(): void;
  /** Asked before what there is no room for, and would hold `neededBytes` in all, is refused: whether there is more room after all; the budget is larger then. */
  lift(neededBytes: number): boolean;
  /** Whether nothing will have to be evicted, so that nothing is held to recompute it. */
  isRoomy(): boolean;
  /** There is room for that many bytes more. */
  roomMade(bytes: number): void;
}

const noOutlook: Outlook = { settle: () => {}, lift: () => false, isRoomy: () => false, roomMade: () => {} };

/**
 * Keeps live bytes within a budget without a plan: before an op runs the room for what it makes is there, by evicting what is large, has not
 * been used for long and is cheap to recompute. Source: dynamic tensor rematerialization (Kirisame et al., 2021), h_DTR with the evicted
 * neighbours that recomputing it needs.
 *
 * @internal
 */
export class OnlinePolicy implements Policy {
  private ledger: Ledger | undefined;
  private clock = 0;
  private readonly lastUse = new Map<StoredBuffer, number>();
  /** Of what is evicted, the milliseconds that recomputing it would have taken when it was: its kernel's, and those of what else was evicted. */
  private readonly recomputeMs = new Map<StoredBuffer, number>();
  private readonly victims = new Victims();
  private isEnding = false;
  private readonly coming: ComingWork = new ComingWork();

  /** May change between passes. */
  private readonly limit: { readonly limitBytes: number };
  private readonly meter: LiveBytes;
  /** Whether to refuse what there is no room for; else it runs all the same. */
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

  /** The ledger recomputes what lives on; that must not be evicted any more. */
  passOver(): void {
    this.isEnding = true;
    this.lastUse.clear();
    this.recomputeMs.clear();
    this.victims.clear();
  }

  /** From here on nothing can be evicted, and the budget is kept all the same. */
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

  /** An op has run that nobody watched: what it has made may have no room. */
  opUnforeseen(kernel: string, inputs: KernelInputs): void {
    this.coming.isOp(kernel, inputs);
    this.makeRoom(0);
  }

  dataComing(bytes: number): void {
    this.coming.isData(bytes);
    this.makeRoom(bytes);
  }

  /** An update of the weights is about to run that holds that many bytes more, and frees nothing. */
  updateComing(optimizer: object, bytes: number): void {
    this.coming.isUpdate(optimizer);
    this.makeRoom(bytes);
  }

  /** Whether that many bytes more are within the budget as it is. */
  hasRoom(bytes: number): boolean {
    return this.meter.liveBytes + bytes <= this.limit.limitBytes;
  }

  /** What the backward pass makes is needed soon, or a result; a view of something else goes with it. */
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
    // An op whose outputs could not be told beforehand.
    if (this.meter.liveBytes > this.limit.limitBytes) this.makeRoom(0);
  }

  /** Only recipes read it: it is recomputed if they are replayed. */
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

  /** The lower, the sooner it is evicted; infinite for what is not. */
  private readonly scoreOf = (buffer: StoredBuffer): number => {
    if (!buffer.isEvictable || buffer.bytes === 0 || (this.isEnding && buffer.isUsed)) return Number.POSITIVE_INFINITY;
    const staleness = this.clock - (this.lastUse.get(buffer) ?? 0) + 1;
    return this.costOf(buffer) / (buffer.bytes * staleness);
  };

  /** Never 0, so that of those that cost nothing the large and stale are evicted first. */
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

  /** Frees something that is held only to recompute what is there anyway. */
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
      ? `It has room within ${room}, and ${nothingLessDoes()}, with a plan or without, since nothing can be evicted in an update. Allow that or more, or hold less besides.`
      : `It has room within ${room}; an op that comes later may need more: what the whole step needs at least, a plan made ahead tells, which may be less. Allow that or more, give such a plan, or take a smaller batch.`;
    throw new BudgetError(
      `${current} needs ${formatBytes(bytes)} beside ${formatBytes(meter.liveBytes)} that cannot be evicted now (weights, gradients, what it reads, and what nothing can recompute): a budget of ${formatBytes(budgetBytes)} does not do. ${advice}`,
      needed,
      current,
    );
  }
}

/** What kernels of some backends hold while they run is allowed for, since nobody knows it. */
const nothingLessDoes = (): string =>
  unknownScratchBytes(1) === 0 ? "no budget below that does" : "none much below that does";
