// Runs around every spec: after the engine was reset and has its backend, before the spec's own scope is opened.
import { Executor } from "specs:executor";
import { releaseEarly } from "@remat/checkpoint";
import { openDispatchMode } from "@remat/dispatch-hook";
import { TraceRecorder } from "@remat/tracer";
import { aroundSpec } from "./around-spec.js";
import { Planned } from "./modes/planned.js";
import { TightBudget } from "./modes/tight-budget.js";

/** Evicts everything that can be recomputed after every op, so that any access has to recompute. */
class EvictEverything {
  evictions = 0;

  passStarting(ledger) {
    this.ledger = ledger;
  }

  passOver() {}

  opOver() {
    for (const buffer of this.ledger.allBuffers) this.bufferUnused(buffer);
  }

  bufferUnused(buffer) {
    if (!buffer.isEvictable) return;
    this.evictions++;
    this.ledger.evict(buffer);
  }

  replaying() {}
}

/**
 * Functions that run before a spec, by mode. Each returns a function to run after it, which returns the amount of work
 * done.
 */
const modes = {
  observe: () => {
    let ops = 0;
    const close = openDispatchMode({
      opStarting() {},
      opDone: () => ops++,
      storageAllocated() {},
      storageReleased() {},
    });
    return () => {
      close();
      return ops;
    };
  },
  record: () => {
    const recorder = new TraceRecorder();
    const close = openDispatchMode(recorder);
    return () => {
      close();
      return recorder.trace().ops.count;
    };
  },
  "release-early": () => {
    let passes = 0;
    const stop = releaseEarly();
    const close = openDispatchMode({ gradientsDone: () => passes++ });
    return () => {
      close();
      stop();
      return passes;
    };
  },
  "evict-everything": () => {
    const policy = new EvictEverything();
    const close = openDispatchMode(new Executor(policy));
    return () => {
      close();
      return policy.evictions;
    };
  },
};

const repeatingModes = {
  "tight-budget": () => new TightBudget(),
  "own-plan": () => new Planned("own"),
  "other-plan": () => new Planned("other"),
};

/**
 * Installs the mode `name` around all specs. It returns the amount of work done, and may request specs again
 * (`RepeatingMode`).
 */
export function installMode(name) {
  const repeating = repeatingModes[name]?.();
  if (repeating !== undefined) {
    aroundSpec.run = (spec) => repeating.around(spec);
    return repeating;
  }
  let work = 0;
  let end;
  if (name !== "stock") {
    globalThis.beforeEach(() => {
      end = modes[name]();
    });
    globalThis.afterEach(() => {
      work += end();
    });
  }
  return { work: () => work };
}
