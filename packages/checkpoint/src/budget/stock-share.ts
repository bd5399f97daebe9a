import { Phase, type Trace } from "@remat/trace";
import { forwardSequenceOfTrace, isOpAt, type OpSequence, type RunOp } from "../plan/op-sequence.js";

/** Maximum number of different passes to measure if nothing suggests that they need more memory than others. */
const mostKinds = 16;
/** How many known passes in a row to measure while looking for an unknown one. */
const mostKnown = 3;
/** How many such searches may fail to find a larger pass before they stop. */
const mostInVain = 3;

/** A pass as unmodified TensorFlow.js would run it. @internal */
export interface StockPass {
  readonly trace: Trace;
  /** Peak memory in bytes. */
  readonly peakBytes: number;
  /** Peak in bytes beyond the data that existed when the pass began. */
  readonly addedBytes: number;
  /** `addedBytes` with early release. */
  readonly releasedBytes: number;
}

interface MeasuredPass {
  /** Key of the gradients that the pass computes. */
  readonly asked: string;
  /** Ops of the forward pass only, since remat runs other kernels in the backward pass. */
  readonly forwardOps: OpSequence;
  readonly addedBytes: number;
  readonly releasedBytes: number;
}

/**
 * Measures the peak of unmodified TensorFlow.js, which is the base of a budget in percent.
 *
 * It measures the first pass that computes a given set of gradients. If a pass would need more than the known ones, or
 * does not fit and began like none of them, it measures the next passes until a pass of that kind has run. For a known
 * pass, it adds the measured increase to the bytes alive when the pass begins.
 *
 * @internal
 */
export class StockShare {
  private readonly fraction: number;
  /** Peak of unmodified TensorFlow.js so far, in bytes. */
  peakBytes: number | undefined;
  /** The pass to measure next while the budget is lifted, by the key of its gradients. Undefined `asked` means any. */
  private sought: { readonly asked: string | undefined; knownLeft: number } | undefined = {
    asked: undefined,
    knownLeft: 1,
  };
  private inVain = 0;
  private readonly asked = new Set<string>();
  private readonly measured: MeasuredPass[] = [];
  /** Measured passes that the current pass matches so far, with their index and the next op. */
  private alike: (MeasuredPass & { readonly place: number; at: number })[] = [];
  /** Bytes alive when the current pass began. */
  private heldBytes = 0;

  /** @param fraction share of the baseline peak, e.g. 0.5 */
  constructor(fraction: number) {
    this.fraction = fraction;
  }

  get budgetBytes(): number | undefined {
    return this.peakBytes === undefined ? undefined : Math.floor(this.fraction * this.peakBytes);
  }

  /** True if the budget is lifted. */
  get isLifted(): boolean {
    return this.sought !== undefined;
  }

  /** Returns whether to measure the next pass, given the key of its gradients. */
  wants(asked: string): boolean {
    return this.isLifted || (!this.asked.has(asked) && this.asked.size < mostKinds);
  }

  /** Adds a measured pass. Returns whether unmodified TensorFlow.js uses more in it than known before. */
  add(asked: string, { trace, peakBytes, addedBytes, releasedBytes }: StockPass): boolean {
    const isLarger = this.raise(peakBytes);
    const known = this.alike.filter(isOver);
    const isKnown = known.length > 0;
    // A known pass may have a higher peak only because more was alive when it began.
    const addsMore = known.every((pass) => addedBytes > pass.addedBytes);
    if (addsMore) {
      for (const { place } of known) this.measured[place] = { ...this.measured[place], addedBytes };
      if (!isKnown) this.measured.push({ asked, forwardOps: forwardSequenceOfTrace(trace), addedBytes, releasedBytes });
    }
    this.asked.add(asked);
    const { sought } = this;
    const isNews = isLarger && addsMore;
    if (isNews) this.inVain = 0;
    if (sought === undefined || (sought.asked ?? asked) !== asked) return isLarger;
    if (isKnown && !isNews && --sought.knownLeft > 0) return isLarger;
    if (!isNews) this.inVain = isKnown ? mostInVain : this.inVain + 1;
    this.sought = undefined;
    return isLarger;
  }

  /** Raises the known peak of unmodified TensorFlow.js. Returns whether it was lower. */
  raise(peakBytes: number): boolean {
    if (peakBytes <= (this.peakBytes ?? -1)) return false;
    this.peakBytes = peakBytes;
    return true;
  }

  passStarting(heldBytes: number): void {
    this.heldBytes = heldBytes;
    this.alike = this.measured.map((pass, place) => ({ ...pass, place, at: 0 }));
  }

  /** Returns whether the finished pass raised the known peak because more was alive when it began. */
  passOver(): boolean {
    return this.raiseAs(this.alike.filter(isOver));
  }

  /** True if the current pass matches only passes that early release alone keeps within the budget. */
  get isRoomy(): boolean {
    const { alike, budgetBytes = 0, heldBytes } = this;
    return alike.length > 0 && alike.every(({ releasedBytes }) => heldBytes + releasedBytes <= budgetBytes);
  }

  opOver(op: RunOp): void {
    const { alike } = this;
    if (alike.length === 0 || op.phase !== Phase.forward) return;
    let kept = 0;
    for (const pass of alike) if (isOpAt(pass.forwardOps, pass.at++, op)) alike[kept++] = pass;
    // Setting the length takes as long as everything above.
    if (kept < alike.length) alike.length = kept;
  }

  /**
   * Called after a pass within the budget that would use about `stockBytes` in unmodified TensorFlow.js. Returns
   * whether a pass like it must be measured, because none has been. The budget is lifted until that measurement.
   *
   * @param asked key of the gradients that the pass computes
   */
  seek(asked: string, stockBytes: number): boolean {
    const isKnown = this.alike.some((pass) => pass.asked === asked && isOver(pass));
    if (!this.isLifted && !isKnown && this.inVain < mostInVain && stockBytes > (this.peakBytes ?? 0))
      this.sought = { asked, knownLeft: mostKnown };
    return this.isLifted;
  }

  /**
   * Called if memory runs out. Returns whether the budget grows, or is lifted until a measurement, because unmodified
   * TensorFlow.js may use more than known so far.
   *
   * @param asked key of the gradients that the pass computes, or undefined between passes
   */
  lift(asked: string | undefined): boolean {
    if (this.isLifted || (asked !== undefined && this.raiseAs(this.alike))) return true;
    if (this.inVain >= mostInVain || (asked !== undefined && this.alike.length > 0)) return false;
    this.sought = { asked, knownLeft: asked === undefined ? 1 : mostKnown };
    return true;
  }

  /** Raises the known peak for a pass like one of these. */
  private raiseAs(passes: readonly MeasuredPass[]): boolean {
    return passes.length > 0 && this.raise(this.heldBytes + Math.min(...passes.map(({ addedBytes }) => addedBytes)));
  }
}

const isOver = ({ forwardOps, at }: { readonly forwardOps: OpSequence; readonly at: number }): boolean =>
  at === forwardOps.count;
