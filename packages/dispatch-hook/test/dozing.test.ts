import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { type DispatchMode, openDispatchMode, type Storage, storagesOf, withDispatchMode } from "../src/index.js";
import { eachLivingTensor, reconsiderPass } from "../src/release/index.js";
import { programs, runProgram } from "./programs.js";

beforeEach(async () => {
  await tf.setBackend("cpu");
});

type Made = tf.Tensor | readonly tf.Tensor[];
const listOf = (made: Made): readonly tf.Tensor[] => (Array.isArray(made) ? made : [made as tf.Tensor]);
const line = (kernel: string, phase: number, made: Made): string =>
  `${kernel} ${phase} ${listOf(made)
    .map(({ dtype, shape }) => `${dtype}[${shape.join()}]`)
    .join(" ")}`;

/** Takes down ops as one that dozes is told of them, and everything else that it is told. */
class Dozer implements DispatchMode {
  isDozing = true;
  readonly ops: string[] = [];
  readonly storages: string[] = [];

  kernelOver(kernel: string, _inputs: unknown, phase: number, made: Made): void {
    this.ops.push(line(kernel, phase, made));
  }
  opOver({ kernel, phase, outputs }: { kernel: string; phase: number; outputs: Made }): void {
    this.ops.push(line(kernel, phase, outputs));
  }
  storageAllocated({ bytes }: Storage): void {
    this.storages.push(`+${bytes}`);
  }
  storageReleased({ bytes }: Storage): void {
    this.storages.push(`-${bytes}`);
  }
}

describe.each(["cpu", "wasm"])("a mode that dozes, on %s,", (backend) => {
  test("changes nothing, and is told of the ops that one is told of that is awake, whether others are awake or not", async () => {
    await tf.setBackend(backend);
    fc.assert(
      fc.property(programs, (program) => {
        const stock = runProgram(program);
        const [awake, alone, besides] = [new Dozer(), new Dozer(), new Dozer()];
        awake.isDozing = false;
        expect(runProgram(program, (step) => withDispatchMode(awake, step))).toEqual(stock);
        expect(runProgram(program, (step) => withDispatchMode(alone, step))).toEqual(stock);
        expect(
          runProgram(program, (step) => withDispatchMode(besides, () => withDispatchMode(new Awake(), step))),
        ).toEqual(stock);
        expect(alone.ops).toEqual(awake.ops);
        expect(besides.ops).toEqual(awake.ops);
        expect(alone.storages).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });
});

class Awake implements DispatchMode {
  opDone(): void {}
}

test("once awake, it finds which tensors share a buffer as if it had looked all the time, and what is alive", () => {
  const views: readonly ((x: tf.Tensor) => tf.Tensor)[] = [
    (x) => tf.slice(x, [1, 0], [2, 4]),
    (x) => tf.slice(x, [0, 0], [1, 4]),
    (x) => tf.reshape(x, [-1, 4]),
    (x) => tf.neg(x),
    (x) => tf.unstack(tf.concat([x, x]), 0)[0].reshape([1, 4]),
    (x) => tf.tidy(() => tf.real(tf.complex(x, x))),
  ];
  const picks = fc.array(fc.record({ view: fc.nat(views.length - 1), of: fc.nat(8), goes: fc.boolean() }), {
    minLength: 1,
    maxLength: 8,
  });
  /** For each remaining tensor, the index of the first in its buffer, and the number of live buffers. */
  const look = (steps: readonly { view: number; of: number; goes: boolean }[], isDozing: boolean) => {
    const released = new Set<Storage>();
    const buffers = new Map<Storage, number>();
    const mode: DispatchMode & { isDozing: boolean } = {
      isDozing: false,
      opDone() {},
      kernelOver() {},
      storageReleased: (storage) => released.add(storage),
    };
    const found = withDispatchMode(mode, () =>
      tf.tidy(() => {
        // The first is known to who dozes then.
        const values: tf.Tensor[] = [tf.ones([4, 4])];
        mode.isDozing = isDozing;
        reconsiderPass();
        const gone: boolean[] = [];
        for (const { view, of, goes } of steps) {
          const source = values[of % values.length];
          const x = source.isDisposed ? tf.ones([4, 4]) : source;
          values.push(views[view](x.shape[0] < 3 ? tf.tile(x, [4, 1]) : x));
          if (goes && source !== x) continue;
          if (goes) source.dispose();
          gone.push(goes);
        }
        mode.isDozing = false;
        reconsiderPass();
        const living: tf.Tensor[] = [];
        eachLivingTensor((tensor) => living.push(tensor));
        return living.map((tensor, i) =>
          storagesOf(tensor).map((storage) => {
            if (!buffers.has(storage)) buffers.set(storage, i);
            return [buffers.get(storage), storage.bytes];
          }),
        );
      }),
    );
    for (const storage of buffers.keys()) expect(released).toContain(storage);
    return found;
  };
  fc.assert(
    fc.property(picks, (steps) => {
      // Sharing must be the same. The bytes of a buffer whose first tensor is gone are reported by a remaining one.
      const sharers = (found: ReturnType<typeof look>) => found.map((storages) => storages.map(([first]) => first));
      expect(sharers(look(steps, true))).toEqual(sharers(look(steps, false)));
    }),
    { numRuns: 100 },
  );
});

test("a mode hears of freed storages that it knew before, and of nothing made in between", () => {
  const mode = new Dozer();
  mode.isDozing = false;
  const close = openDispatchMode(mode);
  const a = tf.tensor1d([1, 2]);
  mode.isDozing = true;
  reconsiderPass();
  const b = tf.neg(a);
  const whole = tf.reshape(a, [2, 1]);
  a.dispose();
  b.dispose();
  const before = [...mode.storages];
  whole.dispose();
  close();
  expect(before).toEqual(["+8"]);
  expect(mode.storages).toEqual(["+8", "-8"]);
});
