import type { MemoryMeter } from "@remat/checkpoint";
import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import type { Session } from "../../../../packages/checkpoint/test/users/ways.js";

/** What a program is given to tell what it sees. */
export interface Observer {
  note(name: string, ...seen: unknown[]): void;
  /** Runs a step; an error in it is seen, and the program goes on. */
  step(run: () => unknown): Promise<void>;
}

/** Observes by bits. */
export function observerOf(session: Session): Observer {
  return observing(session, contentsOf);
}

/**
 * Observes names, types and shapes only, which are there in fake mode, too, and, where there is a meter, the most memory that a step takes. The first
 * that succeeds is left out, since some initializers of layers take none in fake mode, and a step that fails, since fake mode may refuse it sooner or later than a kernel
 * does. What a failure leaves differs with that, so that from there on a step is told by what it takes beside what was there before.
 */
export const shapeObserver =
  (meter?: MemoryMeter) =>
  (session: Session): Observer => {
    let successes = 0;
    let failures = 0;
    const watching: Session = {
      ...session,
      note: (name, ...seen) => {
        if (name === "error") failures++;
        session.note(name, ...seen);
      },
    };
    const observer = observing(watching, ({ dtype, shape }) => [dtype, shape]);
    return {
      ...observer,
      step: async (run) => {
        meter?.reset();
        const before = failures;
        const there = failures > 0 && meter !== undefined ? meter.liveBytes - meter.foundBytes : 0;
        await observer.step(run);
        if (meter === undefined || failures > before || successes++ === 0) return;
        const found = failures > 0 ? meter.foundBytes : 0;
        session.note(`${meter.peakBytes - there - found} bytes`);
      },
    };
  };

function observing(session: Session, see: (tensor: tf.Tensor) => unknown): Observer {
  const seen = (value: unknown): unknown => {
    if (value instanceof tf.Tensor) return see(value);
    if (Array.isArray(value)) return value.map(seen);
    if (typeof value === "object" && value !== null) return Object.values(value).map(seen);
    return value;
  };
  let hasFailed = false;
  return {
    note: (name, ...values) => session.note(name, values.map(seen)),
    step: async (run) => {
      try {
        run();
      } catch (error) {
        // A program may fail, but what remat refuses ends it.
        if (error instanceof RematError) throw error;
        session.note("error", (error as Error).message);
        hasFailed = true;
      }
      // Where a pass fails stock leaves what it has saved.
      const [tensors, bytes, buffers] = session.memory();
      if (!hasFailed) session.note(`${tensors} tensors of ${bytes} bytes in ${buffers} buffers`);
      await session.pause();
    },
  };
}

/** The type, shape and bits of a tensor, one NaN like the other: which one it is depends on how warm V8 is. */
function contentsOf(tensor: tf.Tensor): unknown {
  const values = tensor.dataSync();
  const same =
    values instanceof Float32Array ? values.map((value) => (Number.isNaN(value) ? Number.NaN : value)) : values;
  return [tensor.dtype, tensor.shape, same];
}
