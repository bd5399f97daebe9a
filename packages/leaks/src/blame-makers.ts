import type { GrowthAccumulator, MakerGrowth } from "@remat/memory/growth";
import type { LeakMaker } from "./leak-report.js";
import {
  exactly,
  fewestLost,
  isUnexplained,
  possibleLines,
  reportGroup,
  withCount,
  withEstimates,
} from "./report-makers.js";
import type { Group, Kind, Maker } from "./tensor-groups.js";

/** A line that leaks for certain, and the share of its live tensors that are of one kind. */
interface NamedLine {
  readonly maker: number;
  readonly share: number;
}

/** A line that made tensors of a kind, and an estimate of how many of them are alive. */
interface MakerOfKind {
  readonly maker: number;
  readonly alive: number;
}

/** A growing line explains the growth of a kind if it made at least this share of it. */
const explainingShare = 1 / 4;

/** The growth of groups of tensors. A group is identified by its row. */
export type GroupGrowth = Pick<GrowthAccumulator, "growthOf" | "growthPer">;

/**
 * Reports live tensors by the lines that allocated them. Tensors whose line is unknown are reported by kind, with the
 * lines that may have allocated them if the kind grows. See "How leaks are found" in ARCHITECTURE.md.
 *
 * @param makers allocation sites, by the index that {@link Kind} knows them by
 */
export function blameMakers(
  makers: readonly Maker[],
  kinds: readonly Kind[],
  growth: GroupGrowth,
): readonly LeakMaker[] {
  return new MakerBlame(makers, growth).report(kinds);
}

class MakerBlame {
  private readonly makers: readonly Maker[];
  private readonly growth: GroupGrowth;
  /** Report entries of the makers. */
  private readonly entries: LeakMaker[];
  /** For each maker, the part of its count that is not reported elsewhere. */
  private readonly left: number[];

  constructor(makers: readonly Maker[], growth: GroupGrowth) {
    this.makers = makers;
    this.growth = growth;
    this.entries = makers.map((maker, i) => this.reportMaker(maker, i));
    this.left = this.entries.map(({ count }) => count);
  }

  report(kinds: readonly Kind[]): readonly LeakMaker[] {
    const inPart = kinds.filter(({ isWhole }) => !isWhole).map((kind) => ({ kind, all: this.reportBy(kind) }));
    for (const { kind, all } of inPart) if (all.verdict === "growing") this.blameLosers(kind, all);
    const further = inPart.flatMap(({ kind, all }) => {
      const makers = kind.makers().map((maker) => ({ maker, alive: kind.estimate(maker, "alive").count }));
      return this.isExplained(all, makers)
        ? [...this.reportFurtherLines(kind, all, makers), ...restOf(all, makers)]
        : [this.reportUnclear(kind, all, makers)];
    });
    return [...this.entries.flatMap((each, i) => withCount(each, this.left[i])), ...further];
  }

  private reportBy(group: Group): LeakMaker {
    const isLost = group.lost > group.held;
    return reportGroup(group, this.growth.growthOf(group.row, { isLost }));
  }

  /** For kinds of which only some stacks were taken, the line's part is estimated from all counts of the kind. */
  private reportMaker(maker: Maker, index: number): LeakMaker {
    const entry = this.reportBy(maker);
    const kinds = [...maker.kinds];
    return kinds.every(({ isWhole }) => isWhole) ? entry : withEstimates(entry, kinds, index);
  }

  /** A line whose tensors are unreachable leaks for certain, however few of their stacks were taken. */
  private blameLosers(kind: Kind, all: LeakMaker): void {
    if (kind.lost < explainingShare * (kind.lost + kind.held)) return;
    for (const maker of kind.makers()) {
      const share = shareOfLost(kind, maker);
      if (this.isGrowing(maker) || kind.lostStacks(maker) < fewestLost || share < explainingShare) continue;
      const { verdict, periods } = all;
      this.entries[maker] = { ...this.entries[maker], verdict, periods, ...rateOf(all, share) };
    }
  }

  private isGrowing(maker: number): boolean {
    return this.entries[maker].verdict === "growing";
  }

  private isExplained(all: LeakMaker, makers: readonly MakerOfKind[]): boolean {
    return (
      all.verdict !== "growing" ||
      makers.some(({ maker, alive }) => this.isGrowing(maker) && alive >= explainingShare * all.count)
    );
  }

  /**
   * Reports tensors of a kind that grows but whose line is unknown, with the lines that may be the cause. Tensors
   * reported here are subtracted from the lines' own counts.
   */
  private reportUnclear(kind: Kind, all: LeakMaker, makers: readonly MakerOfKind[]): LeakMaker {
    for (const { maker, alive } of makers) if (!this.isGrowing(maker)) this.left[maker] -= alive;
    const lines = possibleLines(
      kind,
      makers.flatMap(({ maker }) => {
        const { line } = this.entries[maker];
        return line === undefined ? [] : [{ maker, line }];
      }),
    );
    return { ...all, lines, estimates: exactly(all.count, kind) };
  }

  /** Reports lines that may leak in addition to those that leak for certain. */
  private reportFurtherLines(kind: Kind, all: LeakMaker, makers: readonly MakerOfKind[]): readonly LeakMaker[] {
    if (all.verdict !== "growing") return [];
    const named = makers
      .filter(({ maker }) => this.isGrowing(maker))
      .map(({ maker, alive }) => ({ maker, share: alive / this.entries[maker].count }));
    return makers.flatMap(({ maker, alive }) => {
      const possible = this.isGrowing(maker) ? [] : this.reportPossible(kind, all, maker, named);
      if (possible.length > 0) this.left[maker] -= alive;
      return possible;
    });
  }

  /**
   * Another line may leak in addition to one that leaks for certain: if it has lost tensors, or if its estimate has
   * risen and the lines that leak for certain leave growth of the kind unexplained.
   */
  private reportPossible(kind: Kind, all: LeakMaker, maker: number, named: readonly NamedLine[]): readonly LeakMaker[] {
    const { row, site, lost, held } = this.makers[maker];
    if (site.line === undefined) return [];
    const isLosing = kind.lostStacks(maker) >= fewestLost;
    const growth = this.growth.growthOf(row, { isLost: lost > held, isPossible: true });
    const grows = growth.verdict === "growing";
    if (!isLosing && !(grows && this.exceedsNamed(kind, growth, named))) return [];
    const rate = grows ? rateOf(growth, 1) : rateOf(all, shareOfLost(kind, maker));
    const lines = possibleLines(kind, [{ maker, line: site.line }]);
    const entry = withEstimates({ ...all, ...rate, lines }, [kind], maker);
    return withCount(entry, entry.count);
  }

  /** Compares growth by the same kind of period, since each allocation site is reported by the kind that suits it. */
  private exceedsNamed(kind: Kind, { period, countPerPeriod }: MakerGrowth, named: readonly NamedLine[]): boolean {
    if (period === undefined) return false;
    const inAll = this.growth.growthPer(period, kind.row, { isLost: kind.lost > kind.held });
    const explained = named.reduce((sum, { maker, share }) => {
      const { row, lost, held } = this.makers[maker];
      return sum + share * this.growth.growthPer(period, row, { isLost: lost > held, isPossible: true });
    }, 0);
    return isUnexplained(countPerPeriod, inAll, explained);
  }
}

/** Estimates the share of a kind's lost tensors that a line made. */
const shareOfLost = (kind: Kind, maker: number): number => kind.estimate(maker, "lost").count / kind.lost;

type Rate = Pick<MakerGrowth, "period" | "countPerPeriod" | "bytesPerPeriod">;

function rateOf({ period, countPerPeriod, bytesPerPeriod }: Rate, share: number): Rate {
  return { period, countPerPeriod: share * countPerPeriod, bytesPerPeriod: share * bytesPerPeriod };
}

/** Reports the tensors of a kind that no line is known or estimated to have allocated. */
function restOf(all: LeakMaker, makers: readonly MakerOfKind[]): readonly LeakMaker[] {
  const rest = all.count - makers.reduce((sum, { alive }) => sum + alive, 0);
  return withCount({ ...all, verdict: "steady", countPerPeriod: 0, bytesPerPeriod: 0 }, rest);
}
