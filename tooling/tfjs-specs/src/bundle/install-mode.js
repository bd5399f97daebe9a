// Around every spec: after the engine was reset and has its backend, before the spec's own scope is opened.
import { Executor } from "specs:executor";
import { releaseEarly, withMemoryBudget } from "@remat/checkpoint";
import { openDispatchMode, TraceRecorder } from "@remat/dispatch-hook";
import { getBackend } from "@tensorflow/tfjs-core";
import { aroundSpec } from "./around-spec.js";

/** Lets go of all that can be made again after every op, so that whatever is touched has to be. */
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

/** What begins before a spec, by mode; it returns what is to be done after it, which returns how much the mode had to do. */
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

/** More than any spec needs: all is watched, nothing is let go of. */
const ampleBytes = 1e12;

/** Returns what tells how much the mode had to do in all specs. */
export function installMode(name) {
  let work = 0;
  let end;
  if (name === "online-budget") {
    // A budget is refused before there is a backend, and on backends of which it does not know what shares a buffer.
    aroundSpec.run = (spec) =>
      !["cpu", "tensorflow"].includes(getBackend())
        ? spec()
        : withMemoryBudget(
            ampleBytes,
            (execution) => {
              const result = spec();
              if (execution.lastStep !== undefined) work++;
              return result;
            },
            { online: true },
          );
  } else if (name !== "stock") {
    globalThis.beforeEach(() => {
      end = modes[name]();
    });
    globalThis.afterEach(() => {
      work += end();
    });
  }
  return () => work;
}
