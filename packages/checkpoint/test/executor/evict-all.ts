import { withDispatchMode } from "@remat/dispatch-hook";
import { Executor, type Policy } from "../../src/executor/executor.js";
import type { Ledger } from "../../src/executor/ledger.js";

/** Lets go of what can go after every op, as far as `goes` says so; what is touched is made again. */
export class EvictingPolicy implements Policy {
  evictions = 0;
  replays = 0;
  private ledger: Ledger | undefined;

  constructor(private readonly goes: () => boolean = () => true) {}

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
      if (buffer.isEvictable && this.goes()) {
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
