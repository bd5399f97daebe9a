import { declarePure, isRepeatable } from "@remat/dispatch-hook/backends";
import { OpFlag } from "@remat/trace";
import { traceFakeStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { checkpoint, endCheckpointing, verifyReplays } from "../../src/index.js";
import { exampleNamed } from "../training.js";
import { EvictingPolicy, evicting } from "./evict-all.js";

interface Cpu {
  readSync(dataId: object): Float32Array;
  makeTensorInfo(shape: number[], dtype: string, values: Float32Array): tf.TensorInfo;
}

/** Numbers of a generator of its own: the next call gives others. */
let state = 1;
const draw = () => {
  state = (state * 16807) % 2147483647;
  return state / 2147483647;
};

const kernel = (kernelName: string, value: (x: number) => number): tf.KernelConfig => ({
  kernelName,
  backendName: "cpu",
  kernelFunc: ({ inputs, backend }) => {
    const { x } = inputs as { x: tf.TensorInfo };
    const cpu = backend as unknown as Cpu;
    const values = cpu.readSync(x.dataId).map(value);
    return cpu.makeTensorInfo(x.shape, "float32", values);
  },
});

const call = (name: string, x: tf.Tensor): tf.Tensor => tf.engine().runKernel(name, { x }) as tf.Tensor;

beforeAll(async () => {
  await tf.setBackend("cpu");
  tf.registerKernel(kernel("NoisyScale", (x) => x * draw()));
  tf.registerKernel(kernel("TwiceOf", (x) => 2 * x));
  tf.registerGradient({ kernelName: "NoisyScale", gradFunc: (dy) => ({ x: () => tf.clone(dy as tf.Tensor) }) });
  tf.registerGradient({ kernelName: "TwiceOf", gradFunc: (dy) => ({ x: () => tf.mul(dy as tf.Tensor, 2) }) });
});

const kept: (() => void)[] = [];
afterEach(() => {
  for (const undo of kept.splice(0)) undo();
});

/** Gradients of a net in which `name` stands between what is saved. */
function gradientsThrough(name: string): number[] {
  state = 1;
  return tf.tidy(() => {
    const x = tf.linspace(-1, 1, 64);
    const net = (t: tf.Tensor): tf.Tensor => tf.sum(tf.square(tf.sin(call(name, tf.tanh(tf.mul(t, t))))));
    return [...tf.grad(net)(x).dataSync()];
  });
}

const evictAll = <T>(run: () => T): T => evicting(run, new EvictingPolicy(() => true));

describe("a kernel that a user registered", () => {
  test("is held: one that draws at random trains as in stock", () => {
    expect(isRepeatable("NoisyScale", "cpu")).toBe(false);
    expect(evictAll(() => gradientsThrough("NoisyScale"))).toEqual(gradientsThrough("NoisyScale"));
  });

  test("is replayed once it was declared pure, until that is taken back", () => {
    kept.push(declarePure("TwiceOf"));
    expect(isRepeatable("TwiceOf", "cpu")).toBe(true);
    expect(evictAll(() => gradientsThrough("TwiceOf"))).toEqual(gradientsThrough("TwiceOf"));
    kept.splice(0)[0]();
    expect(isRepeatable("TwiceOf", "cpu")).toBe(false);
  });

  test("is held in place of one of the backend's", () => {
    const own = tf.getKernel("Tanh", "cpu");
    expect(isRepeatable("Tanh", "cpu")).toBe(true);
    tf.unregisterKernel("Tanh", "cpu");
    tf.registerKernel(kernel("Tanh", (x) => Math.tanh(x) * draw()));
    kept.push(() => {
      tf.unregisterKernel("Tanh", "cpu");
      tf.registerKernel(own);
    });
    expect(isRepeatable("Tanh", "cpu")).toBe(false);
    expect(evictAll(() => gradientsThrough("TwiceOf"))).toEqual(gradientsThrough("TwiceOf"));
    kept.splice(0)[0]();
    expect(isRepeatable("Tanh", "cpu")).toBe(true);
  });

  test("may be given a picture, which is no tensor", () => {
    tf.registerKernel({
      kernelName: "FromPixels",
      backendName: "cpu",
      kernelFunc: ({ inputs, attrs, backend }) => {
        const { width, height, data } = inputs["pixels"] as unknown as tf.PixelData;
        const channels = (attrs as unknown as { numChannels: number }).numChannels;
        const values = Float32Array.from({ length: width * height * channels }, (_, i) => data[i]);
        return (backend as unknown as Cpu).makeTensorInfo([height, width, channels], "int32", values);
      },
    });
    kept.push(() => tf.unregisterKernel("FromPixels", "cpu"));
    const camera = { width: 8, height: 2, data: Uint8Array.from({ length: 64 }, (_, i) => i) };
    const gradient = (): number[] => {
      const net = (w: tf.Tensor): tf.Tensor => {
        const picture = tf.sin(tf.cast(tf.browser.fromPixels(camera, 4), "float32"));
        return tf.sum(tf.square(tf.sin(tf.mul(w, picture))));
      };
      return tf.tidy(() => [
        ...tf
          .grad(net)(tf.linspace(-1, 1, 4))
          .dataSync(),
      ]);
    };
    const stock = gradient();
    const policy = new EvictingPolicy();
    expect(evicting(gradient, policy)).toEqual(stock);
    expect(policy.evictions).toBeGreaterThan(0);
  });

  test("is held in a checkpointed function", () => {
    const through = (block: (t: tf.Tensor) => tf.Tensor) => {
      state = 1;
      return tf.tidy(() => [
        ...tf
          .grad((t) => tf.sum(block(tf.tanh(t))))(tf.linspace(-1, 1, 64))
          .dataSync(),
      ]);
    };
    const inside = (t: tf.Tensor) => tf.square(tf.sin(call("NoisyScale", tf.mul(t, t))));
    expect(through(checkpoint(inside))).toEqual(through(inside));
    endCheckpointing();
  });

  test("cannot be declared where there is none", () => {
    expect(() => declarePure("TwiceOff")).toThrow(expect.objectContaining({ code: "KERNEL_UNKNOWN" }));
  });
});

test("all of tfjs's own kernels are replayed, but for those that draw", () => {
  const held = tf.getKernelsForBackend("cpu").filter(({ kernelName }) => !isRepeatable(kernelName, "cpu"));
  expect(held.map(({ kernelName }) => kernelName).toSorted()).toEqual(["Multinomial", "NoisyScale", "TwiceOf"]);
});

describe("replays that are verified", () => {
  test("name a kernel that is not what it was declared to be", () => {
    kept.push(declarePure("NoisyScale"), verifyReplays());
    const before = tf.memory();
    expect(() => evictAll(() => gradientsThrough("NoisyScale"))).toThrow(
      expect.objectContaining({
        code: "REPLAY_DIFFERS",
        message: expect.stringContaining("NoisyScale returned other"),
      }),
    );
    expect(tf.memory()).toEqual(before);
  });

  test("are otherwise what they are", () => {
    kept.push(declarePure("TwiceOf"), verifyReplays());
    expect(evictAll(() => gradientsThrough("TwiceOf"))).toEqual(gradientsThrough("TwiceOf"));
  });
});

test("in fake mode they are told by their names, each time", async () => {
  const build = await exampleNamed("efficientnet-b0");
  for (let time = 0; time < 2; time++) {
    const { ops } = await traceFakeStep(build, { size: "tiny", backend: "tensorflow" });
    expect(ops.count).toBeGreaterThan(500);
    expect(ops.flags.some((flags) => (flags & OpFlag.random) !== 0)).toBe(false);
  }
});
