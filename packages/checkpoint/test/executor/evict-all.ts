import { withDispatchMode } from "@remat/dispatch-hook";
import { Executor, type Policy } from "../../src/executor/executor.js";
import type { Ledger } from "../../src/executor/ledger.js";

/** Evicts what can be after every op, as far as `isChosen` says so; what is touched is recomputed. */
export class EvictingPolicy implements Policy {
  private readonly isChosen: () => boolean;
  evictions = 0;
  replays = 0;
  private ledger: Ledger | undefined;

  constructor(isChosen: () => boolean = () => true) {
    this.isChosen = isChosen;
  }

  passStarting(ledger: Ledger): void {
    this.ledger = ledger;
  }

  passOver(): void {
    this.ledger = undefined;
  }

  opOver(): void {
    const { ledger } = this;
    if (ledger === undefined) return;
    for (const buffer of ledger.allBuffers)
      if (buffer.isEvictable && this.isChosen()) {
        this.evictions++;
        ledger.evict(buffer);
      }
  }

  bufferUnused(): void {}

  replaying(): void {
    this.replays++;
  }
}

/** Runs `run` with everything evicted all the time. */
export function evicting<T>(run: () => T, policy: EvictingPolicy = new EvictingPolicy()): T {
  return withDispatchMode(new Executor(policy), run);
}
