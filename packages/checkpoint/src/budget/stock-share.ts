import { Phase, type Trace } from "@remat/trace";
import { forwardSequenceOfTrace, isOpAt, type OpSequence, type RunOp } from "../plan/op-sequence.js";

/** Kinds of passes that are measured without being known to need more than others. */
const mostKinds = 16;
/** How many passes are measured in a row that are known already, when one is sought that is not. */
const mostKnown = 3;
/** How often one may be sought without any that takes more than those before. */
const mostInVain = 3;

/** What a pass does in stock. @internal */
export interface StockPass {
  readonly trace: Trace;
  readonly peakBytes: number;
  /** The most beyond what was there when it began. */
  readonly addedBytes: number;
  /** The same with early release. */
  readonly releasedBytes: number;
}

interface MeasuredPass {
  /** The gradients that it was asked for. */
  readonly asked: string;
  /** Of the forward pass: in the backward pass there are other kernels than stock's. */
  readonly forwardOps: OpSequence;
  readonly addedBytes: number;
  readonly releasedBytes: number;
}

/**
 * Knows what stock takes, of which a budget in percent is a part: from passes that run as stock does. Those are the first that is asked for other gradients
 * than those before, and, where a pass would take more than they have, or finds no room and has begun as none of them, those that follow, until one of its kind has been.
 * Of passes as one of these it is known: what that has added to what is held when they begin.
 *
 * @internal
 */
export class StockShare {
  private readonly fraction: number;
  /** The most that stock would have held, in what was measured. */
  peakBytes: number | undefined;
  /** The pass that is sought while there is no budget: asked for these gradients, or for any. */
  private sought: { readonly asked: string | undefined; knownLeft: number } | undefined = {
    asked: undefined,
    knownLeft: 1,
  };
  private inVain = 0;
  private readonly asked = new Set<string>();
  private readonly measured: MeasuredPass[] = [];
  /** Of these, those that have begun as the pass that runs now: which they are, and where it is in them. */
  private alike: (MeasuredPass & { readonly place: number; at: number })[] = [];
  /** When that began. */
  private heldBytes = 0;

  /** @param fraction of stock's peak, e.g. 0.5 */
  constructor(fraction: number) {
    this.fraction = fraction;
  }

  get budgetBytes(): number | undefined {
    return this.peakBytes === undefined ? undefined : Math.floor(this.fraction * this.peakBytes);
  }

  /** Whether there is no budget now. */
  get isLifted(): boolean {
    return this.sought !== undefined;
  }

  /** Whether the pass to come, which is asked for these gradients, shall be measured. */
  wants(asked: string): boolean {
    return this.isLifted || (!this.asked.has(asked) && this.asked.size < mostKinds);
  }

  /** A pass has been measured. Tells whether stock takes more in it than was known. */
  add(asked: string, { trace, peakBytes, addedBytes, releasedBytes }: StockPass): boolean {
    const isLarger = this.raise(peakBytes);
    const known = this.alike.filter(isOver);
    const isKnown = known.length > 0;
    // One that is known may take more than before only because more is held when it begins.
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

  /** Stock would hold as much. Tells whether that is more than was known. */
  raise(peakBytes: number): boolean {
    if (peakBytes <= (this.peakBytes ?? -1)) return false;
    this.peakBytes = peakBytes;
    return true;
  }

  passStarting(heldBytes: number): void {
    this.heldBytes = heldBytes;
    this.alike = this.measured.map((pass, place) => ({ ...pass, place, at: 0 }));
  }

  /** Whether stock takes more than was known in the pass that is over, since more was held when it began. */
  passOver(): boolean {
    return this.raiseAs(this.alike.filter(isOver));
  }

  /** Whether the pass that runs is, as far as it has come, as others that early release alone keeps within the budget. */
  get isRoomy(): boolean {
    const { alike, budgetBytes = 0, heldBytes } = this;
    return alike.length > 0 && alike.every(({ releasedBytes }) => heldBytes + releasedBytes <= budgetBytes);
  }

  opOver(op: RunOp): void {
    const { alike } = this;
    if (alike.length === 0 || op.phase !== Phase.forward) return;
    let kept = 0;
    for (const pass of alike) if (isOpAt(pass.forwardOps, pass.at++, op)) alike[kept++] = pass;
    // To set a length takes as long as all of the above.
    if (kept < alike.length) alike.length = kept;
  }

  /**
   * A pass has been kept within the budget that would take about as much in stock. Tells whether one like it shall be measured, as none has been; then there is no budget until then.
   *
   * @param asked the gradients that it was asked for
   */
  seek(asked: string, stockBytes: number): boolean {
    const isKnown = this.alike.some((pass) => pass.asked === asked && isOver(pass));
    if (!this.isLifted && !isKnown && this.inVain < mostInVain && stockBytes > (this.peakBytes ?? 0))
      this.sought = { asked, knownLeft: mostKnown };
    return this.isLifted;
  }

  /**
   * There is no room. Tells whether that is because stock, too, would take more than is known: there is more room then; or may be, and then there is no budget until that is measured.
   *
   * @param asked the gradients that the pass is asked for; undefined between passes
   */
  lift(asked: string | undefined): boolean {
    if (this.isLifted || (asked !== undefined && this.raiseAs(this.alike))) return true;
    if (this.inVain >= mostInVain || (asked !== undefined && this.alike.length > 0)) return false;
    this.sought = { asked, knownLeft: asked === undefined ? 1 : mostKnown };
    return true;
  }

  /** The pass is one of these. */
  private raiseAs(passes: readonly MeasuredPass[]): boolean {
    return passes.length > 0 && this.raise(this.heldBytes + Math.min(...passes.map(({ addedBytes }) => addedBytes)));
  }
}

const isOver = ({ forwardOps, at }: { readonly forwardOps: OpSequence; readonly at: number }): boolean =>
  at === forwardOps.count;
