import { withDispatchMode } from "@remat/dispatch-hook";
import { checkpointedRegions } from "@remat/memory/regions";
import { parseTrace, type Trace, writeTrace } from "@remat/trace";
import { TraceRecorder } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { checkpoint, endCheckpointing, saveMatmuls } from "../../src/index.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});
afterEach(() => {
  endCheckpointing();
  tf.disposeVariables();
});

const rows = 8;
const dim = 16;
const wide = 64;
const result = rows * dim * 4;
const hidden = rows * wide * 4;

type Block = (x: tf.Tensor2D, w1: tf.Tensor2D, w2: tf.Tensor2D) => tf.Tensor2D;

const tanh: Block = (x, w1) => x.matMul(w1).tanh() as tf.Tensor2D;
const inner: Block = (x, w1, w2) => tanh(x, w1, w2).matMul(w2) as tf.Tensor2D;

/** A trace of a gradient through two calls of a block, one after the other. */
function traceOf(make: () => Block): Trace {
  const block = make();
  const recorder = new TraceRecorder({ sourceLine: () => "train.js:1:1" });
  withDispatchMode(recorder, () =>
    tf.tidy(() => {
      const w1 = tf.variable(tf.randomNormal<tf.Rank.R2>([dim, wide], 0, 0.1, "float32", 1));
      const w2 = tf.variable(tf.randomNormal<tf.Rank.R2>([wide, dim], 0, 0.1, "float32", 2));
      const x = tf.randomNormal<tf.Rank.R2>([rows, dim], 0, 1, "float32", 3);
      const loss = () =>
        block(block(x, w1, w2), w1, w2)
          .square()
          .mean() as tf.Scalar;
      tf.variableGrads(loss);
    }),
  );
  return recorder.trace();
}

/** A block whose own gradient function is given `saved` and computes the rest again. */
function byHand({ keeps = false, saves = false } = {}): Block {
  return tf.customGrad((...args: unknown[]) => {
    const [x, w1, w2, save] = args as [tf.Tensor2D, tf.Tensor2D, tf.Tensor2D, (tensors: tf.Tensor[]) => void];
    const h = tanh(x, w1, w2);
    if (keeps) tf.keep(h);
    save(saves ? [x, w1, w2, h] : [x, w1, w2]);
    const gradFunc = (dy: tf.Tensor2D, saved: tf.Tensor[]) => {
      const [x, w1, w2] = saved as tf.Tensor2D[];
      const h = tanh(x, w1, w2);
      const dh = dy.matMul(w2, false, true).mul(tf.scalar(1).sub(h.square())) as tf.Tensor2D;
      return [dh.matMul(w1, false, true), x.matMul(dh, true), h.matMul(dy, true)];
    };
    return { value: h.matMul(w2), gradFunc: gradFunc as never };
  }) as Block;
}

/** The block of a library that differentiates it again in the backward pass and restores the engine's tape. */
const anew: () => Block = () =>
  tf.customGrad((...args: unknown[]) => {
    const [x, w1, w2, save] = args as [tf.Tensor2D, tf.Tensor2D, tf.Tensor2D, (tensors: tf.Tensor[]) => void];
    save([x, w1, w2]);
    const gradFunc = (dy: tf.Tensor2D, saved: tf.Tensor[]) => {
      const { state } = tf.engine() as unknown as { state: { activeTape: unknown } };
      const { activeTape } = state;
      try {
        return tf.grads(inner as never)(saved, dy);
      } finally {
        state.activeTape = activeTape;
      }
    };
    return { value: inner(x, w1, w2), gradFunc: gradFunc as never };
  }) as Block;

/** A block of ours of which something inside is looked at outside. */
function lookedAt(look: (h: tf.Tensor, y: tf.Tensor2D) => tf.Tensor2D): Block {
  let seen: tf.Tensor | undefined;
  const block = checkpoint<Parameters<Block>, tf.Tensor2D>((x, w1, w2) => {
    const h = tanh(x, w1, w2);
    seen = h;
    return h.matMul(w2) as tf.Tensor2D;
  });
  return (x, w1, w2) => {
    const y = block(x, w1, w2);
    return look(seen as tf.Tensor, y);
  };
}

const randomly: () => Block = () =>
  checkpoint<Parameters<Block>, tf.Tensor2D>((x, w1, w2) => tf.dropout(tanh(x, w1, w2), 0.5).matMul(w2) as tf.Tensor2D);

const nested: () => Block = () => {
  const second = checkpoint((h: tf.Tensor2D, w2: tf.Tensor2D) => h.square().matMul(w2) as tf.Tensor2D);
  return checkpoint<Parameters<Block>, tf.Tensor2D>((x, w1, w2) => second(tanh(x, w1, w2), w2), saveMatmuls);
};

describe.each<[name: string, make: () => Block, form: string, recomputed: readonly number[], kept: readonly string[]]>([
  ["a block", () => checkpoint(inner), "replayed", [1, 1], [`result ${result} BatchMatMul`]],
  ["a gradient function that computes again", () => byHand(), "customGrad", [1, 1], [`result ${result} BatchMatMul`]],
  ["a gradient function that differentiates again", anew, "customGrad", [1, 1], [`result ${result} BatchMatMul`]],
  [
    "one that is given what it computes again",
    () => byHand({ saves: true }),
    "customGrad",
    [1, 1],
    [`savedForNothing ${hidden} Tanh`, `result ${result} BatchMatMul`],
  ],
  [
    "one whose program keeps what it made",
    () => byHand({ keeps: true }),
    "customGrad",
    [1, 1],
    [`program ${hidden} Tanh`, `result ${result} BatchMatMul`],
  ],
  [
    "a block of which an op outside reads what is inside",
    () => lookedAt((h, y) => y.add(h.mean())),
    "replayed",
    [0, 0],
    [`readOutside ${hidden} BatchMatMul Mean`, `readOutside ${hidden} Tanh Mean`, `result ${result} BatchMatMul`],
  ],
  [
    "a block of which the program reads values",
    () =>
      lookedAt((h, y) => {
        h.dataSync();
        return y;
      }),
    "replayed",
    [0, 0],
    [`readOutside ${hidden} BatchMatMul`, `readOutside ${hidden} Tanh`, `result ${result} BatchMatMul`],
  ],
])("%s", (_, make, form, recomputed, kept) => {
  test("is told as a region, with what outlived it and why", () => {
    const trace = traceOf(make);
    const regions = checkpointedRegions(trace);
    expect(regions.map((region) => [region.form, region.recomputed])).toEqual(recomputed.map((times) => [form, times]));
    for (const region of regions) {
      expect(
        region.kept.map(({ cause, bytes, maker, saver }) =>
          [cause, bytes, trace.opName(maker!), ...(saver?.op === undefined ? [] : [trace.opName(saver.op)])].join(" "),
        ),
      ).toEqual(kept);
      expect(region.madeBytes).toBe(2 * hidden + result);
      expect(region.heldBytes).toBe(region.kept.reduce((sum, { bytes }) => sum + bytes, 0));
      expect(region.flaws).toEqual([]);
      expect(trace.scopes[region.scope].line).toBe("train.js:1:1");
    }
    const copy = parseTrace(Buffer.concat([...writeTrace(trace)]));
    expect(checkpointedRegions(copy)).toEqual(regions);
  });
});

test("random numbers from JavaScript in a block are kept, since they cannot be recomputed", () => {
  for (const { kept } of checkpointedRegions(traceOf(randomly)))
    expect(kept.filter(({ cause }) => cause !== "result")).toContainEqual(
      expect.objectContaining({ cause: "unrepeatable", bytes: hidden, maker: undefined }),
    );
});

test("a block inside one is told by itself, and what a policy saves as that", () => {
  const trace = traceOf(nested);
  const regions = checkpointedRegions(trace);
  expect(regions.map(({ scope }) => trace.scopes[scope].parent)).toEqual([-1, regions[0].scope, -1, regions[2].scope]);
  expect(regions.map(({ kept }) => kept.map(({ cause, bytes }) => `${cause} ${bytes}`))).toEqual([
    [`policy ${hidden}`, `result ${result}`],
    [`result ${result}`],
    [`policy ${hidden}`, `result ${result}`],
    [`result ${result}`],
  ]);
});

test("a function with a gradient of its own that computes nothing again is no region", () => {
  const made = traceOf(
    () =>
      tf.customGrad((...args: unknown[]) => {
        const [x, w1, w2, save] = args as [tf.Tensor2D, tf.Tensor2D, tf.Tensor2D, (tensors: tf.Tensor[]) => void];
        const h = tanh(x, w1, w2);
        save([x, w1, w2, h]);
        const gradFunc = (dy: tf.Tensor2D, saved: tf.Tensor[]) => {
          const [x, w1, w2, h] = saved as tf.Tensor2D[];
          const dh = dy.matMul(w2, false, true).mul(tf.scalar(1).sub(h.square())) as tf.Tensor2D;
          return [dh.matMul(w1, false, true), x.matMul(dh, true), h.matMul(dy, true)];
        };
        return { value: h.matMul(w2), gradFunc: gradFunc as never };
      }) as Block,
  );
  expect(made.scopes.length).toBeGreaterThan(0);
  expect(checkpointedRegions(made)).toEqual([]);
});
