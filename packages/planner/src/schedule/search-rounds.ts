/** How a round of annealing goes. @internal */
export interface Round {
  /** Temperatures at the beginning and at the end, in mean node costs. */
  readonly from: number;
  readonly to: number;
  /** Price of overflow, in mean node costs per mean value; undefined: goes with how often the budget is exceeded. */
  readonly price?: number;
  /** Whether it begins with the given order, rather than with what was found. */
  readonly restarts: boolean;
  /** See `Moves.boldness`. */
  readonly boldness: number;
}

/** @internal */
export interface RoundPlan {
  readonly round: Round;
  readonly iterations: number;
  /** Whether it goes for the budget itself, even while nothing is within it. */
  readonly isDirect: boolean;
}

/** @internal */
export interface SearchState {
  /** Of the round to come, from 0. */
  readonly index: number;
  readonly nodes: number;
  readonly isFree: boolean;
  /** Rounds that went by before anything was within the budget; undefined while nothing is. */
  readonly roundsWithout: number | undefined;
}

/** The round that a search begins with. @internal */
export const warm: Round = { from: 1, to: 0.01, restarts: false, boldness: 0.1 };
const cool: Round = { from: 0.3, to: 0.003, restarts: false, boldness: 0.05 };
const warmer: Round = { from: 3, to: 0.01, restarts: false, boldness: 0.3 };
/** Wanders far, through sequences over the budget, before it settles: for tight budgets on small graphs. */
const hot: Round = { from: 10, to: 0.1, price: 3, restarts: true, boldness: 0.5 };
/** The same where the order is free, and more can go wrong before it goes right. */
const hotter: Round = { ...hot, from: 20, to: 0.3, boldness: 0.2 };
const hotGraphNodes = 600;

/** Rounds that look for any order within the budget, before they take their time. */
const quickRounds = 6;
const leastIterations = 500;
const iterationsPerNode = 40;
/** A good order takes longer to form than one that will do, or than a choice of what to recompute. */
const longIterationsPerNode = 400;
const growth = 1.2;
const mostGrowths = 20;

/** Rounds grow, and near and far ones take turns. @internal */
export function planRound({ index, nodes, isFree, roundsWithout }: SearchState): RoundPlan {
  const hasBest = roundsWithout !== undefined;
  const far = nodes > hotGraphNodes ? warmer : isFree ? hotter : hot;
  const rounds = isFree ? [warm, far] : hasBest ? [warm, far, cool, warmer] : [warm, warm, far];
  const round = rounds[index % rounds.length];
  const isLong = round === hotter && (hasBest || index >= quickRounds);
  let growths = index;
  // In a free order what follows the first schedule within the budget, or the quick rounds, is grown from the start.
  if (isFree && hasBest) growths -= roundsWithout;
  else if (isLong) growths -= quickRounds;
  const perNode = isLong ? longIterationsPerNode : iterationsPerNode;
  const iterations = Math.ceil(
    Math.max(leastIterations, perNode * nodes) * growth ** Math.min(mostGrowths, Math.max(0, growths)),
  );
  return { round, iterations, isDirect: hasBest || isLong };
}
