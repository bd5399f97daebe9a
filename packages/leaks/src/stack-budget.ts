/** How likely a tensor is to outlive its period: `early` is one of the first periods, of which nothing is known yet. */
export type Likelihood = "likely" | "unlikely" | "early";

interface Allowance {
  /** What looking at stacks may take of the time that goes by. */
  readonly share: number;
  /** So many are looked at in any case: most programs never come to more. */
  readonly free: number;
}

const allowances: Readonly<Record<Likelihood, Allowance>> = {
  likely: { share: 0.04, free: 1000 },
  unlikely: { share: 0.005, free: 1000 },
  early: { share: 0, free: 2000 },
};

/** Decides whether a stack is looked at now: each costs as much as an op of a tiny model. */
export class StackBudget {
  private readonly spentMs: Record<Likelihood, number> = { likely: 0, unlikely: 0, early: 0 };
  private readonly taken: Record<Likelihood, number> = { likely: 0, unlikely: 0, early: 0 };
  private readonly startedAt: number;

  constructor(private readonly now: () => number) {
    this.startedAt = now();
  }

  /** Runs `look` if there is time for it: more where a tensor is likely to outlive its period. */
  spend<T>(likelihood: Likelihood, look: () => T): T | undefined {
    const { share, free } = allowances[likelihood];
    const isFree = this.taken[likelihood] < free;
    if (!isFree && share === 0) return undefined;
    const at = this.now();
    if (!isFree && this.spentMs[likelihood] > share * (at - this.startedAt)) return undefined;
    this.taken[likelihood]++;
    const result = look();
    this.spentMs[likelihood] += this.now() - at;
    return result;
  }
}
