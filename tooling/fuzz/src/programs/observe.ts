import type { MemoryMeter } from "@remat/checkpoint";
import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import type { Session } from "../../../../packages/checkpoint/test/users/ways.js";

/** Lets a program report what it sees. */
export interface Observer {
  note(name: string, ...seen: unknown[]): void;
  /** Runs a step. An error in it is noted, and the program continues. */
  step(run: () => unknown): Promise<void>;
}

/** Observes bits. */
export function observerOf(session: Session): Observer {
  return observing(session, contentsOf);
}

/**
 * Observes names, types and shapes only, which also exist in fake mode, and with a meter the peak memory of a step.
 * Peak memory is left out for the first step that succeeds, since some layer initializers use no memory in fake mode,
 * and for a failing step, since fake mode may reject it earlier or later than a kernel does. After a failure different
 * tensors may be left, so later steps are measured relative to their beginning.
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
        // A program may fail, but a rejection by remat ends it.
        if (error instanceof RematError) throw error;
        session.note("error", (error as Error).message);
        hasFailed = true;
      }
      // After a failed pass unmodified tfjs leaves saved tensors.
      const [tensors, bytes, buffers] = session.memory();
      if (!hasFailed) session.note(`${tensors} tensors of ${bytes} bytes in ${buffers} buffers`);
      await session.pause();
    },
  };
}

/** The type, shape and bits of a tensor, with all NaNs equal, since their bits depend on V8's optimization state. */
function contentsOf(tensor: tf.Tensor): unknown {
  const values = tensor.dataSync();
  const same =
    values instanceof Float32Array ? values.map((value) => (Number.isNaN(value) ? Number.NaN : value)) : values;
  return [tensor.dtype, tensor.shape, same];
}
