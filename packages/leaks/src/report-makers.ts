import type { MakerGrowth } from "@remat/memory/growth";
import type { LeakMaker, LeakOrigin, LineEstimates, PossibleLine } from "./leak-report.js";
import { estimateLine, type LineEstimate } from "./line-estimate.js";
import type { SourceSite } from "./source-site.js";
import { type Fate, type Fates, type Group, type Kind, Maker } from "./tensor-groups.js";

/** Fewer lost tensors may be an exception. */
export const fewestLost = 3;
/**
 * Shares of lines are reported only if their confidence intervals are at most this wide, and if at least this many
 * stacks of lost tensors were taken.
 */
const widestShare = 0.4;
const fewestOfShares = 10;

/** Returns an allocation site with the part of its count that is not reported elsewhere. */
export function withCount(maker: LeakMaker, count: number): readonly LeakMaker[] {
  const whole = Math.round(count);
  if (whole === maker.count) return whole === 0 ? [] : [maker];
  if (whole <= 0) return [];
  return [{ ...maker, count: whole, bytes: (maker.bytes * whole) / maker.count, ...fatesOf(maker, whole) }];
}

/** Returns an allocation site with estimates of how many tensors of some kinds it made. */
export function withEstimates(maker: LeakMaker, kinds: readonly Kind[], index: number): LeakMaker {
  const each = (fate: Fate): LineEstimate => estimateLine(kinds.flatMap((kind) => kind.strata(index, fate)));
  const estimates: LineEstimates = { alive: each("alive"), lost: each("lost"), held: each("held") };
  const { alive, lost, held } = estimates;
  const isExact = Object.values(estimates).every(({ low, high }) => low === high);
  return {
    ...maker,
    count: alive.count,
    bytes: (maker.bytes * alive.count) / Math.max(1, maker.count),
    ...fatesOf({ lost: lost.count, held: held.count }, alive.count),
    ...(!isExact && { estimates }),
  };
}

/** Returns the exact numbers of all tensors of a kind, whichever line made them. */
export function exactly(alive: number, { lost, held }: Kind): LineEstimates {
  const of = (count: number): LineEstimate => ({ count, low: count, high: count, of: count });
  return { alive: of(alive), lost: of(lost), held: of(held) };
}

/**
 * Returns the lines that may have made tensors of a kind. If most of the kind is lost and enough stacks were taken,
 * each line comes with its share of the lost tensors.
 */
export function possibleLines(
  kind: Kind,
  makers: readonly { readonly maker: number; readonly line: string }[],
): readonly PossibleLine[] {
  const lines = new Map(makers.map(({ line }) => [line, 0]));
  const all = kind.origins.reduce((sum, { maker, lost }) => sum + (maker === undefined ? 0 : lost), 0);
  let widest = 0;
  for (const { maker, line } of makers) {
    const { count, low, high } = kind.estimate(maker, "lost");
    widest = Math.max(widest, (high - low) / kind.lost);
    if (kind.lostStacks(maker) >= fewestLost) lines.set(line, lines.get(line)! + count / kind.lost);
  }
  const isTold = kind.lost > kind.held && all >= fewestOfShares && widest <= widestShare;
  const shares = [...lines].filter(([, share]) => isTold && share > 0).toSorted(([, a], [, b]) => b - a);
  return shares.length > 0
    ? shares.map(([line, share]) => ({ line, share }))
    : [...lines.keys()].map((line) => ({ line }));
}

/**
 * Returns whether the exact growth of all tensors of a kind leaves room for a line's estimated growth, after the growth
 * of the lines that leak for certain. All are tensors per period. An estimate may rise by chance, so a quarter of its
 * growth must be unexplained.
 *
 * @example
 * isUnexplained(0.27, 0.8, 0.82); // false: the other line explains all 0.8, so this one's 0.27 is chance
 */
export function isUnexplained(estimate: number, inAll: number, explained: number): boolean {
  return inAll - explained >= estimate / 4;
}

/** Returns the report entry of a group: its tensors and their growth. */
export function reportGroup(group: Group, { countError: _, ...growth }: MakerGrowth): LeakMaker {
  const site = group instanceof Maker ? group.site : undefined;
  return {
    line: site?.line,
    op: group.op,
    shapes: [...group.shapes],
    modules: [...group.modules],
    names: [...group.names],
    origin: originOf(group, site, group.kept > 0 && 2 * group.kept >= growth.count),
    returnedBy: site?.returnedBy,
    ...(site?.line === undefined && site?.within !== undefined && { within: site.within }),
    ...fatesOf(group, growth.count),
    ...growth,
  };
}

/** Scales the results of the last census to `count` tensors. */
function fatesOf({ lost, held }: Pick<Fates, "lost" | "held">, count: number): Pick<LeakMaker, "lost" | "held"> {
  const share = Math.round((count * lost) / Math.max(1, lost + held));
  return { lost: share, held: lost + held > 0 ? count - share : 0 };
}

function originOf({ isVariable, isInTidy }: Group, site: SourceSite | undefined, isKept: boolean): LeakOrigin {
  const owner = site?.owner;
  if (owner === "iterator") return owner;
  if (owner === "optimizer" && !isVariable && isKept) return "constant";
  if (owner !== undefined && (isVariable || isKept)) return owner;
  if (isVariable) return "variable";
  if (isKept) return "kept";
  return isInTidy ? "returned" : "outside";
}
