import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { type DispatchMode, openDispatchMode, type Storage, storagesOf, withDispatchMode } from "../src/index.js";
import { evictData, replayKernel } from "../src/residency/index.js";
import { eventLog } from "./event-log.js";
import { programs, runProgram } from "./programs.js";

/** Modes that are told of what engine calls do that are few; nobody need watch ops for them. */
const quietModes: Readonly<Record<string, DispatchMode>> = {
  "nothing at all": {},
  "early release": { releasesEarly: true, prunesSaved: true, sharesOnes: true },
  passes: { gradients: (_, next) => next(), gradientsDone: () => {} },
  steps: { phaseChanged: () => {}, optimizerStepDone: () => {}, variableAssigned: () => {}, tensorRead: () => {} },
};

beforeEach(async () => {
  await tf.setBackend("cpu");
});

/** How many ops the hook has counted meanwhile: none if it has left them alone. */
function countOps(run: () => void): number {
  const next = () => {
    let sequence = 0;
    const mode: DispatchMode = {
      opStarting: (op) => {
        sequence = op.sequence;
      },
    };
    withDispatchMode(mode, () => tf.tidy(() => void tf.scalar(1).neg()));
    return sequence;
  };
  const first = next();
  run();
  return next() - first - 1;
}

const trainOnce = () =>
  tf.tidy(() => {
    const w = tf.variable(tf.ones([2, 2]));
    tf.train.sgd(0.1).minimize(() => tf.sum(tf.softmax(tf.matMul(w, w).relu())) as tf.Scalar, false, [w]);
    w.dispose();
  });

describe.each(Object.entries(quietModes))("a mode that listens to %s", (_, mode) => {
  test("leaves ops alone", () => {
    expect(countOps(() => withDispatchMode(mode, trainOnce))).toBe(0);
    expect(countOps(() => withDispatchMode({ opDone() {} }, trainOnce))).toBeGreaterThan(10);
    expect(countOps(() => withDispatchMode(mode, () => withDispatchMode({ opDone() {} }, trainOnce)))).toBeGreaterThan(
      10,
    );
  });

  test.each(["cpu", "wasm"])("changes no value, gradient, weight or count of memory, on %s", async (backend) => {
    await tf.setBackend(backend);
    fc.assert(
      fc.property(programs, (program) => {
        const stock = runProgram(program);
        expect(runProgram(program, (step) => withDispatchMode(mode, step))).toEqual(stock);
      }),
      { numRuns: 20 },
    );
  });

  test("starting or stopping to listen in the middle of a pass changes nothing", () => {
    const whens = fc.record({ before: fc.boolean(), closed: fc.boolean() });
    fc.assert(
      fc.property(programs, whens, (program, { before, closed }) => {
        const opener: DispatchMode = {
          gradients: (call, next) => {
            const open = () => openDispatchMode(eventLog().mode);
            let close = before ? open() : () => {};
            const forward = () => {
              const y = call.forward();
              if (before && closed) close();
              if (!before) close = open();
              return y;
            };
            try {
              return next({ ...call, forward });
            } finally {
              close();
            }
          },
        };
        const stock = runProgram(program);
        expect(runProgram(program, (step) => withDispatchMode(mode, () => withDispatchMode(opener, step)))).toEqual(
          stock,
        );
      }),
      { numRuns: 60 },
    );
  });
});

describe("storages, where nobody listens to them,", () => {
  test("are not told; data that was made meanwhile is not fresh to whoever asks later", () => {
    withDispatchMode({}, () => {
      const a = tf.tensor1d([1, 2]);
      const b = tf.neg(a);
      expect(storagesOf(a)).toEqual([]);
      expect(storagesOf(b)).toEqual([]);
      const told: Storage[] = [];
      const listener: DispatchMode = { storageAllocated: (storage) => told.push(storage) };
      withDispatchMode(listener, () => {
        expect(storagesOf(a)).toMatchObject([{ bytes: 8, fresh: false }]);
        expect(storagesOf(b)).toMatchObject([{ bytes: 8, fresh: false }]);
        const c = tf.neg(b);
        expect(told).toEqual(storagesOf(c));
        expect(told).toMatchObject([{ bytes: 8, fresh: true }]);
        c.dispose();
      });
      expect(storagesOf(a)).toEqual([]);
      tf.dispose([a, b]);
    });
  });

  test("freed in between do not exist for a later listener", () => {
    const released: Storage[] = [];
    const listener: DispatchMode = { storageReleased: (storage) => released.push(storage) };
    withDispatchMode({}, () => {
      const [a, b] = withDispatchMode(listener, () => [tf.tensor1d([1, 2]), tf.tensor1d([3])]);
      a.dispose();
      withDispatchMode(listener, () => b.dispose());
    });
    expect(released).toMatchObject([{ bytes: 4 }]);
  });

  test("can be evicted and recomputed", () => {
    withDispatchMode({}, () => {
      const x = tf.tensor1d([1, 2]);
      const y = tf.neg(x);
      evictData([y.dataId]);
      expect([...y.dataSync()]).toEqual([]);
      replayKernel({ kernel: "Neg", inputs: { x }, attributes: {} }, [y.dataId]);
      expect([...y.dataSync()]).toEqual([-1, -2]);
      tf.dispose([x, y]);
    });
  });
});
