import type { DispatchObserver, Storage } from "@remat/dispatch-hook";
import { GrowthAccumulator } from "@remat/memory/growth";

/**
 * A dispatch mode that tracks all storages that the program keeps alive, including data that no op of a step reads,
 * such as the data set that its batches are cut from.
 */
export class HeldStorages implements DispatchObserver, Iterable<Storage> {
  readonly seesOutside = true;
  /** Bytes of all of them, as requested. */
  bytes = 0;
  private readonly held = new Set<Storage>();
  private readonly growth = new GrowthAccumulator();

  storageAllocated(storage: Storage): void {
    this.held.add(storage);
    this.bytes += storage.bytes;
    this.growth.allocated(0, storage.bytes);
  }

  storageReleased(storage: Storage): void {
    if (!this.held.delete(storage)) return;
    this.bytes -= storage.bytes;
    this.growth.freed(0, storage.bytes);
  }

  /** Notes that a step is about to begin and the previous one has ended. */
  stepStarting(): void {
    this.growth.endPeriod("step");
  }

  /**
   * Growth of live memory per step, measured at the start of steps. It is 0 if memory does not grow, and undefined if
   * there are too few steps to judge.
   */
  get bytesPerStep(): number | undefined {
    const { verdict, bytesPerPeriod } = this.growth.growthOf(0);
    return verdict === "too short" ? undefined : bytesPerPeriod;
  }

  [Symbol.iterator](): Iterator<Storage> {
    return this.held.values();
  }
}
