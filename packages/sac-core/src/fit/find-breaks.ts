import type { CandidatePool } from "./candidate-pool.js";
import { type ChosenBreak, placeBreaks } from "./chosen-breaks.js";
import type { DistinctPoints } from "./distinct-points.js";
import { type HeightCost, HeightCosts } from "./height-costs.js";
import { heightsThatMeet, type OpenLine } from "./open-line.js";
import { RunningLine } from "./running-line.js";
import { separateLines } from "./separate-lines.js";

/*
 * Possible places for the breaks of the best continuous broken line (Hudson 1966, "Fitting segmented curves whose join
 * points have to be estimated"). The residual is smooth in a break that moves between two neighbouring points. If its
 * derivative is 0, the lines on both sides are the best fits of their own points, so the break is their intersection.
 * In every other optimum the break is at a point. Two breaks in one gap can be moved to its ends, and a line with a
 * single point between two gaps can be turned until one of its breaks is at a point. So a gap has one break, and a line
 * between two gaps has at least two points.
 *
 * Therefore a best line consists of parts that end in gaps. Within a part all breaks are at points. Two neighbouring
 * parts only have to meet in the gap between them. The dynamic program goes over the points from left to right. For
 * each number of breaks it keeps
 *
 * - for a last break at a point: the least residual so far as a function of the line's height there, a lower envelope
 *   of parabolas (as in Fearnhead, Maidstone and Letchford 2019, "Detecting changes in slope with an L0 penalty");
 * - for a last break in a gap: each line that can end there, with its residual.
 *
 * Candidates that cannot beat a known line are dropped. `separateLines` gives a lower bound for the remaining points.
 */

/** Differences below this share of the y scale count as rounding. */
const heightRounding = 1e-10;
/** Differences below this share of a residual count as rounding. */
const residualRounding = 1e-9;

/**
 * Offers the breaks of the best continuous lines with up to `breaks` inner breaks, in order of quality. `known` is a
 * residual that some line already reaches. Time grows with the square of the number of points, and with the number of
 * candidates that `known` does not exclude.
 *
 * @returns true if the search was complete, false if it would take more than `steps`
 */
export function findBreaks(
  points: DistinctPoints,
  breaks: number,
  known: number,
  steps: number,
  offer: CandidatePool,
): boolean {
  // The bounds alone take a step for each pair of points.
  if (points.count * points.count > steps) return false;
  return new BreakSearch(points, breaks, known - points.scatter, steps, offer).run();
}

class BreakSearch {
  private readonly points: DistinctPoints;
  private readonly breaks: number;
  private readonly offer: CandidatePool;
  /** See {@link separateLines}. */
  private readonly ahead: Float64Array;
  /** Costs by height at each point, by number of breaks up to and including that point. */
  private readonly atPoint: HeightCosts[][];
  /** Lines that end in the gap before each point, by number of breaks up to and including the gap. */
  private readonly inGap: OpenLine[][][];
  private readonly heightSlack: number;
  private readonly residualSlack: number;
  private known: number;
  private stepsLeft: number;
  private readonly line = new RunningLine();

  constructor(points: DistinctPoints, breaks: number, known: number, steps: number, offer: CandidatePool) {
    this.points = points;
    this.breaks = breaks;
    this.known = known;
    this.stepsLeft = steps;
    this.offer = offer;
    this.ahead = separateLines(points, breaks);
    const each = <Item>(make: () => Item): Item[][] =>
      Array.from({ length: breaks + 1 }, () => Array.from({ length: points.count }, make));
    this.atPoint = each(() => new HeightCosts());
    this.inGap = each(() => []);
    const squares = points.y.reduce((sum, y, i) => sum + points.weight[i] * (y - points.y[0]) ** 2, 0);
    this.heightSlack = heightRounding * Math.sqrt(squares / points.count);
    this.residualSlack = 1e-26 * squares;
  }

  run(): boolean {
    const { count } = this.points;
    this.inGap[0][0] = [{ residual: 0, left: 0, right: 0, breaks: undefined }];
    for (let from = 0; from < count; from++) {
      this.leaveGap(from);
      this.leavePoint(from);
      if (this.stepsLeft < 0) return false;
    }
    return true;
  }

  /** The largest residual that the points before `next` may have, if `left` more breaks remain for the others. */
  private allowed(left: number, next: number): number {
    const { count } = this.points;
    return this.known * (1 + residualRounding) + this.residualSlack - this.ahead[left * (count + 1) + next];
  }

  /**
   * Extends every line that ends in the gap before `from` by a line through `from … to` that ends at point `to`, or in
   * the gap after it.
   */
  private leaveGap(from: number): void {
    const { points, line, breaks } = this;
    const open: { k: number; lines: OpenLine[] }[] = [];
    for (let k = 0; k <= breaks; k++) {
      const lines = this.inGap[k][from];
      if (lines.length > 0) open.push({ k, lines: lines.sort((a, b) => a.residual - b.residual) });
    }
    if (open.length === 0) return;
    line.clear();
    line.add(points, from);
    for (let to = from + 1; to < points.count; to++) {
      line.add(points, to);
      this.stepsLeft--;
      for (const { k, lines } of open) {
        if (to === points.count - 1) this.endFromGap(lines, from);
        else if (k < breaks) {
          const allowed = this.allowed(breaks - k - 1, to + 1) - line.residual;
          if (lines[0].residual > allowed) continue;
          this.gapToGap(k, lines, from, to, allowed);
          this.gapToPoint(k, lines, from, to, allowed);
        }
      }
    }
  }

  /** The first of the lines, by ascending residual, that meets the current line in the gap before `from`. */
  private meeting(lines: readonly OpenLine[], from: number, allowed: number): OpenLine | undefined {
    if (from === 0) return lines[0];
    const { line, points, heightSlack } = this;
    const left = line.at(points.x[from - 1]);
    const right = line.at(points.x[from]);
    for (const one of lines) {
      if (one.residual > allowed) return undefined;
      this.stepsLeft--;
      const a = one.left - left;
      const b = one.right - right;
      if (a * b <= 0 || Math.abs(a) <= heightSlack || Math.abs(b) <= heightSlack) return one;
    }
    return undefined;
  }

  private endFromGap(lines: readonly OpenLine[], from: number): void {
    const one = this.meeting(
      lines,
      from,
      this.known * (1 + residualRounding) + this.residualSlack - this.line.residual,
    );
    if (one !== undefined) this.end(one.residual + this.line.residual, one.breaks);
  }

  private gapToGap(k: number, lines: readonly OpenLine[], from: number, to: number, allowed: number): void {
    const { line, points } = this;
    const one = this.meeting(lines, from, allowed);
    if (one === undefined) return;
    this.inGap[k + 1][to + 1].push({
      residual: one.residual + line.residual,
      left: line.at(points.x[to]),
      right: line.at(points.x[to + 1]),
      breaks: { at: to + 0.5, before: one.breaks },
    });
  }

  private gapToPoint(k: number, lines: readonly OpenLine[], from: number, to: number, allowed: number): void {
    const { line, points } = this;
    const { x } = points;
    const best = line.at(x[to]);
    const stiffness = line.stiffnessAt(x[to]);
    const reach = { low: Infinity, high: -Infinity };
    // Heights already covered by a line with a smaller residual.
    const whole = Math.sqrt((allowed - lines[0].residual) / stiffness);
    for (const one of lines) {
      if (one.residual > allowed) return;
      if (reach.low <= best - whole && reach.high >= best + whole) return;
      this.stepsLeft--;
      const radius = Math.sqrt((allowed - one.residual) / stiffness);
      let low = best - radius;
      let high = best + radius;
      if (from > 0) {
        const span = heightsThatMeet(one, line, x, from, to);
        low = Math.max(low, span.low - this.heightSlack);
        high = Math.min(high, span.high + this.heightSlack);
      }
      if (!(high > low) || (low >= reach.low && high <= reach.high)) continue;
      if (low <= reach.high && high >= reach.low) {
        reach.low = Math.min(low, reach.low);
        reach.high = Math.max(high, reach.high);
      } else if (!(reach.high - reach.low > high - low)) Object.assign(reach, { low, high });
      this.keep(k + 1, to, {
        low,
        high,
        least: one.residual + line.residual,
        stiffness,
        best,
        breaks: { at: to, before: one.breaks },
      });
    }
  }

  /** Extends a break at point `from` by a line to a break at point `to`, in the gap after it, or to the end. */
  private leavePoint(from: number): void {
    const { points, line, breaks } = this;
    const { x, count } = points;
    const open: { k: number; costs: readonly HeightCost[] }[] = [];
    for (let k = 1; k <= breaks; k++) {
      const { pieces } = this.atPoint[k][from];
      if (pieces.length > 0) open.push({ k, costs: pieces });
    }
    if (open.length === 0) return;
    line.clear();
    for (let to = from + 1; to < count; to++) {
      line.add(points, to);
      this.stepsLeft--;
      const isLast = to === count - 1;
      const width = x[to] - x[from];
      const mean = line.meanBetween(x[from], x[to]);
      const turning = line.spreadX / (width * width);
      // Costs of moving the left height, the right height, and both, relative to the line that fits these points best.
      const leftSquare = line.weight * (1 - mean) * (1 - mean) + turning;
      const both = to === from + 1 ? 0 : line.weight * mean * (1 - mean) - turning;
      const rightSquare = line.weight * mean * mean + turning;
      const determinant = line.weight * turning;
      const leftAlone = determinant / rightSquare;
      const bestLeft = line.at(x[from]);
      const bestRight = line.at(x[to]);
      for (const { k, costs } of open) {
        if (!isLast && k === breaks) continue;
        const allowed = (isLast ? this.allowed(0, count) : this.allowed(breaks - k - 1, to + 1)) - line.residual;
        for (const cost of costs) {
          if (cost.least > allowed) continue;
          this.stepsLeft--;
          const sum = cost.stiffness + leftAlone;
          const apart = cost.best - bestLeft;
          const least = cost.least + ((cost.stiffness * leftAlone) / sum) * apart * apart;
          if (least > allowed) continue;
          const left = bestLeft + (cost.stiffness / sum) * apart;
          const right = bestRight - (both / rightSquare) * (left - bestLeft);
          const isMet = left >= cost.low - this.heightSlack && left <= cost.high + this.heightSlack;
          if (isLast) {
            if (isMet) this.end(least + line.residual, cost.breaks);
            continue;
          }
          if (isMet)
            this.inGap[k + 1][to + 1].push({
              residual: least + line.residual,
              left: right,
              right: right + ((right - left) / width) * (x[to + 1] - x[to]),
              breaks: { at: to + 0.5, before: cost.breaks },
            });
          const stiffness = (determinant + cost.stiffness * rightSquare) / (cost.stiffness + leftSquare);
          const radius = Math.sqrt((allowed - least) / stiffness);
          let low = right - radius;
          let high = right + radius;
          // The left height follows the right one, and must stay within the range of its cost.
          const follows = -both / (cost.stiffness + leftSquare);
          if (follows === 0) {
            if (!isMet) continue;
          } else {
            const a = right + (cost.low - this.heightSlack - left) / follows;
            const b = right + (cost.high + this.heightSlack - left) / follows;
            low = Math.max(low, Math.min(a, b));
            high = Math.min(high, Math.max(a, b));
          }
          if (high > low)
            this.keep(k + 1, to, {
              low,
              high,
              least: least + line.residual,
              stiffness,
              best: right,
              breaks: { at: to, before: cost.breaks },
            });
        }
      }
    }
  }

  private keep(k: number, at: number, cost: HeightCost): void {
    this.stepsLeft -= this.atPoint[k][at].add(cost);
  }

  private end(residual: number, breaks: ChosenBreak | undefined): void {
    if (residual > this.known * (1 + residualRounding) + this.residualSlack) return;
    this.known = Math.min(this.known, residual);
    if (residual < this.offer.bound) this.offer.offer(residual + this.points.scatter, placeBreaks(this.points, breaks));
  }
}
