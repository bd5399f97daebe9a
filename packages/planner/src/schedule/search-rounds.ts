/** The parameters of a round of annealing. @internal */
export interface Round {
  /** Temperatures at the beginning and at the end, in mean node costs. */
  readonly from: number;
  readonly to: number;
  /**
   * Price of overflow, in mean node costs per mean value. If undefined, it adapts to how often the budget is exceeded.
   */
  readonly price?: number;
  /** True if the round starts from the given order instead of the best schedule found. */
  readonly restarts: boolean;
  /** See `Moves.boldness`. */
  readonly boldness: number;
}

/** A round and its length. @internal */
export interface RoundPlan {
  readonly round: Round;
  readonly iterations: number;
  /** True if the round aims for the budget itself, even if no schedule is within it yet. */
  readonly isDirect: boolean;
}

/** The state of a search before a round. @internal */
export interface SearchState {
  /** Number of the next round, from 0. */
  readonly index: number;
  readonly nodes: number;
  readonly isFree: boolean;
  /** Number of rounds before the first schedule within the budget, or undefined as long as there is none. */
  readonly roundsWithout: number | undefined;
}

/** The first round of a search. @internal */
export const warm: Round = { from: 1, to: 0.01, restarts: false, boldness: 0.1 };
const cool: Round = { from: 0.3, to: 0.003, restarts: false, boldness: 0.05 };
const warmer: Round = { from: 3, to: 0.01, restarts: false, boldness: 0.3 };
/** Moves far, through sequences over the budget, before it settles. Used for tight budgets on small graphs. */
const hot: Round = { from: 10, to: 0.1, price: 3, restarts: true, boldness: 0.5 };
/** Like `hot`, for a free order, in which a schedule can get worse in more ways before it improves. */
const hotter: Round = { ...hot, from: 20, to: 0.3, boldness: 0.2 };
const hotGraphNodes = 600;

/** Number of short rounds that look for any order within the budget before the longer rounds. */
const quickRounds = 6;
const leastIterations = 500;
const iterationsPerNode = 40;
/** Iterations per node of long rounds. A good order takes longer to find than a sufficient one, or than a choice of nodes to recompute. */
const longIterationsPerNode = 400;
const growth = 1.2;
const mostGrowths = 20;

/**
 * Plans the next round. Rounds become longer, and rounds with small moves alternate with rounds that move far.
 * @internal
 */
export function planRound({ index, nodes, isFree, roundsWithout }: SearchState): RoundPlan {
  const hasBest = roundsWithout !== undefined;
  const far = nodes > hotGraphNodes ? warmer : isFree ? hotter : hot;
  const rounds = isFree ? [warm, far] : hasBest ? [warm, far, cool, warmer] : [warm, warm, far];
  const round = rounds[index % rounds.length];
  const isLong = round === hotter && (hasBest || index >= quickRounds);
  let growths = index;
  // In a free order, rounds are short again after the first schedule within the budget, or after the quick rounds.
  if (isFree && hasBest) growths -= roundsWithout;
  else if (isLong) growths -= quickRounds;
  const perNode = isLong ? longIterationsPerNode : iterationsPerNode;
  const iterations = Math.ceil(
    Math.max(leastIterations, perNode * nodes) * growth ** Math.min(mostGrowths, Math.max(0, growths)),
  );
  return { round, iterations, isDirect: hasBest || isLong };
}
