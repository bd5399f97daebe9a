/** After so many periods the first is taken, and the next after twice as many each time. */
const firstAfter = 4;
/** What censuses may take of the time that goes by, but for the first few. */
const share = 0.02;
const free = 6;

/** Decides at which ends of periods a census is taken: all of the heap is walked for it. */
export class CensusSchedule {
  private readonly now: () => number;
  private periods = 0;
  private next = firstAfter;
  private oldId = 0;
  private taken = 0;
  private spentMs = 0;
  private readonly startedAt: number;

  constructor(now: () => number) {
    this.now = now;
    this.startedAt = now();
  }

  /** Counts periods anew: those until now were none. */
  restart(): void {
    this.periods = 0;
    this.next = firstAfter;
  }

  /**
   * A period is over, in which `newestId` was the last tensor: takes a census if it is time. What was made in the first half of the periods until then
   * is old enough to be judged; what runs now may still need the rest.
   */
  periodOver(newestId: number, take: (periods: number, oldId: number) => void): void {
    this.periods++;
    if (2 * this.periods <= this.next) this.oldId = newestId;
    if (this.periods < this.next) return;
    const at = this.now();
    if (this.taken >= free && this.spentMs > share * (at - this.startedAt)) return;
    take(this.periods, this.oldId);
    this.taken++;
    this.spentMs += this.now() - at;
    this.next = 2 * this.periods;
    this.oldId = newestId;
  }
}
