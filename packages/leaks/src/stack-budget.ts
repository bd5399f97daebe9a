/** What looking at stacks may take of the time that goes by. */
const share = 0.04;
const unlikelyShare = 0.005;
/** So many stacks are looked at in any case: most programs never come to more. */
const free = 400;

/** Decides whether a stack is looked at now: each costs as much as an op of a tiny model. */
export class StackBudget {
  private spentMs = 0;
  private taken = 0;
  private readonly startedAt: number;

  constructor(private readonly now: () => number) {
    this.startedAt = now();
  }

  /** Runs `look` if there is time for it: more where a tensor is `likely` to outlive its period. */
  spend<T>(likely: boolean, look: () => T): T | undefined {
    const at = this.now();
    const allowedMs = (likely ? share : unlikelyShare) * (at - this.startedAt);
    if (this.taken >= (likely ? free : free / 2) && this.spentMs > allowedMs) return undefined;
    this.taken++;
    const result = look();
    this.spentMs += this.now() - at;
    return result;
  }
}
