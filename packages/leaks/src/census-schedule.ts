/** The first census is taken after this many periods. The number doubles each time. */
const firstAfter = 4;
/** The share of elapsed time that censuses may take, except for the first `free` ones. */
const share = 0.02;
const free = 6;

/** Decides after which periods to take a census. A census walks the whole heap. */
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

  /** Restarts the count of periods, because the periods so far were not real ones. */
  restart(): void {
    this.periods = 0;
    this.next = firstAfter;
  }

  /**
   * Notes the end of a period, with `newestId` the last tensor made in it, and takes a census if it is time. Tensors
   * made in the first half of the periods since the last census are old enough to be judged. Code that is still running
   * may need the others.
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
