import { withDispatchMode } from "@remat/dispatch-hook";
import { type BackendName, selectBackend } from "@remat/dispatch-hook/backends/node";
import { fakeMode } from "@remat/dispatch-hook/fake";
import { heldPeak } from "@remat/memory";
import { MemTracker, type ModuleState } from "@remat/memory/tracker";
import { ModTracker } from "@remat/mod-tracker";
import { goldensOf, nativeApp } from "@remat/testkit";
import { countReplayedOps, Phase, type Trace, writeTrace } from "@remat/trace";
import { TraceRecorder, traceFakeStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  checkpoint,
  checkpointLayers,
  endCheckpointing,
  MemoryMeter,
  named,
  type SavePolicy,
  saveMatmuls,
  saveNamed,
} from "../../src/index.js";

const ends: (() => void)[] = [];
const checkpointUntilOver = (...given: Parameters<typeof checkpointLayers>) =>
  void ends.push(checkpointLayers(...given));
afterEach(() => {
  for (const end of ends.splice(0)) end();
  endCheckpointing();
  tf.disposeVariables();
});

/** Makes a step, which may be taken several times. */
type MakeStep = (tracker: ModTracker) => () => void;
type Fn = (h: tf.Tensor2D) => tf.Tensor2D;

const square = (seed: number) => tf.variable(tf.randomNormal([16, 16], 0, 0.3, "float32", seed));
const inputs = () => tf.randomNormal([24, 16], 0, 1, "float32", 3) as tf.Tensor2D;

/** A step of gradients by all variables of what `blocks` make one after the other. */
const through = (x: tf.Tensor2D, blocks: readonly Fn[]) => () =>
  tf.dispose(tf.variableGrads(() => tf.mean(blocks.reduce((h, block) => block(h), x)) as tf.Scalar) as never);

function flatModel(): tf.LayersModel {
  const input = tf.input({ shape: [16] });
  let h = input;
  for (let i = 1; i <= 3; i++) {
    const dense = (part: string, activation: "relu" | "tanh") =>
      tf.layers.dense({ name: `block_${i}_${part}`, units: 16, activation });
    const normal = tf.layers.batchNormalization({ name: `block_${i}_bn` }).apply(dense("expand", "relu").apply(h));
    const dropped = tf.layers.dropout({ name: `block_${i}_drop`, rate: 0.2, seed: i }).apply(normal);
    const end = dense("project", "tanh").apply(dropped) as tf.SymbolicTensor;
    h = tf.layers.add({ name: `block_${i}_add` }).apply([h, end]) as tf.SymbolicTensor;
  }
  return tf.model({
    inputs: input,
    outputs: tf.layers.dense({ name: "head", units: 2 }).apply(h) as never,
    name: "net",
  });
}

/** Takes steps of a model whose layers that match `pattern` are blocks. */
function trained(model: tf.LayersModel, shape: number[], pattern: string, tracker: ModTracker): () => void {
  checkpointUntilOver(model, pattern);
  tracker.track(model, { name: model.name });
  const optimizer = tf.train.adam(0.01);
  tracker.trackOptimizer(optimizer);
  const x = tf.randomNormal(shape, 0, 1, "float32", 5);
  const loss = () => tf.mean(tf.square(model.apply(x, { training: true }) as tf.Tensor)) as tf.Scalar;
  return () => void optimizer.minimize(loss);
}

const cases: Readonly<Record<string, MakeStep>> = {
  "a chain of functions": () => {
    const blocks = [1, 2, 3].map((seed) => {
      const w = square(seed);
      return checkpoint((h: tf.Tensor2D) => tf.sin(tf.relu(tf.matMul(tf.tanh(h), w as never))) as tf.Tensor2D);
    });
    return through(inputs(), blocks);
  },
  "functions that save products, or what has a name": () => {
    const policies = [saveMatmuls, saveNamed("kept")];
    const blocks = policies.map((policy, i) => {
      const w = square(i);
      return checkpoint(
        (h: tf.Tensor2D) => tf.exp(named("kept", tf.tanh(tf.matMul(tf.sigmoid(h), w as never)))) as tf.Tensor2D,
        policy,
      );
    });
    return through(inputs(), blocks);
  },
  "blocks in blocks": () => {
    const w = square(1);
    const inner = checkpoint((h: tf.Tensor2D) => tf.tanh(tf.sigmoid(tf.matMul(h, w as never))) as tf.Tensor2D);
    const outer = checkpoint((h: tf.Tensor2D) => tf.exp(inner(tf.sin(inner(h)))) as tf.Tensor2D);
    return through(inputs(), [outer, outer]);
  },
  "a block with constants, dropout and views": () => {
    const w = square(1);
    const block = checkpoint((h: tf.Tensor2D) => {
      const dropped = tf.dropout(tf.mul(tf.matMul(h, w as never), tf.ones([24, 16])), 0.3, undefined, 4);
      return tf.reshape(tf.sin(tf.reshape(tf.add(dropped, 0.5), [-1])), [24, 16]) as tf.Tensor2D;
    });
    return through(inputs(), [block, block]);
  },
  "two passes in a step": () => {
    const w = square(1);
    const block = checkpoint((h: tf.Tensor2D) => tf.tanh(tf.sigmoid(tf.matMul(h, w as never))) as tf.Tensor2D);
    const x = inputs();
    const [first, second] = [through(x, [block, block]), through(x, [block])];
    return () => {
      first();
      second();
    };
  },
  "a block that fails in the second pass": () => {
    const w = square(1);
    let passes = 0;
    const block = checkpoint((h: tf.Tensor2D) => {
      const y = tf.tanh(tf.sin(tf.matMul(h, w as never))) as tf.Tensor2D;
      if (passes++ % 4 === 1) throw new Error("mine");
      return y;
    });
    const pass = through(inputs(), [block]);
    return () => {
      pass();
      expect(pass).toThrow("mine");
      pass();
      pass();
    };
  },
  "scopes of a plain function": (tracker) => {
    const w = square(1);
    const block = checkpoint((h: tf.Tensor2D) => {
      const y = tracker.scope("inside", () => tf.tanh(tf.sigmoid(tf.matMul(h, w as never))), [h]);
      return tf.sin(y) as tf.Tensor2D;
    });
    return through(inputs(), [(h) => tracker.scope("around", () => tf.exp(block(h)), [h])]);
  },
  "layers of a model, with Adam": (tracker) => trained(flatModel(), [24, 16], "block_*", tracker),
  convolutions: (tracker) => {
    const layers = [1, 2].map((i) =>
      tf.sequential({
        name: `stage_${i}`,
        layers: [
          tf.layers.conv2d({
            name: `conv_${i}`,
            filters: 4,
            kernelSize: 3,
            padding: "same",
            activation: "relu",
            inputShape: [6, 6, i === 1 ? 3 : 4],
          }),
          tf.layers.maxPooling2d({ name: `pool_${i}`, poolSize: 2, strides: 1, padding: "same" }),
        ],
      }),
    );
    return trained(tf.sequential({ name: "net", layers }), [2, 6, 6, 3], "stage_*", tracker);
  },
};

interface Recorded {
  readonly trace: Trace;
  /** As the recorder's own observer, which sees buffers, counts it. */
  readonly peakBytes: number;
}

/** Records the second step, for which an optimizer's state is there. */
function recorded(make: MakeStep): Recorded {
  const recorder = new TraceRecorder();
  const tracker = new ModTracker({ recorder });
  const meter = new MemoryMeter();
  try {
    return withDispatchMode(meter, () =>
      tf.tidy(() => {
        const step = make(tracker);
        step();
        meter.reset();
        tracker.run(step);
        return { trace: recorder.trace(), peakBytes: meter.peakBytes } as never;
      }),
    );
  } finally {
    tracker.close();
    endCheckpointing();
  }
}

/** Every event of a trace, all else that is in it but for the mode. */
const linesOf = (trace: Trace): string[] =>
  Buffer.concat([...writeTrace(trace.withHeader({ ...trace.header, mode: "real" }))])
    .toString()
    .split("\n");

const labels: Readonly<Record<ModuleState, string>> = {
  preForward: "Pre-Forward",
  postForward: "Post-Forward",
  peakForward: "Peak-Forward",
  preBackward: "Pre-Backward",
  preForwardCheckpointed: "Pre-Forward-AC",
  postForwardCheckpointed: "Post-Forward-AC",
  postBackward: "Post-Backward",
  peakBackward: "Peak-Backward",
};

describe("in a trace", () => {
  beforeAll(async () => {
    await tf.setBackend("cpu");
  });

  test("recomputed ops belong to their original modules, whose forward pass counts as recomputed if all of it is", () => {
    const { trace } = recorded(cases["scopes of a plain function"]);
    const told: string[] = [];
    const { moduleEvents, calls, modules } = trace;
    for (let e = 0; e < moduleEvents.call.length; e++)
      if (moduleEvents.phase[e] === Phase.recompute) told.push(modules[calls.module[moduleEvents.call[e]]].fqn);
    // `around` also has an op of its own.
    expect(told).toEqual(["around.inside", "around.inside"]);
  });

  test("blocks are functions where what is recomputed is free: it is that of a model without blocks", async () => {
    const build = (blocks: boolean) => () => {
      const model = flatModel();
      if (blocks) checkpointUntilOver(model, "block_*");
      return { model, inputs: inputs(), targets: tf.ones([24, 2]) };
    };
    const options = { optimizer: "adam", backend: "cpu" } as const;
    const plain = await traceFakeStep(build(false), options);
    const free = await traceFakeStep(build(true), { ...options, checkpointing: "free" });
    expect(linesOf(free)).toEqual(linesOf(plain));
    const given = await traceFakeStep(build(true), options);
    expect(countReplayedOps(given)).toBeGreaterThan(0);
    expect(heldPeak(given).peakBytes).toBeLessThan(heldPeak(plain).peakBytes);
  });

  test("an error in a step, fake or real, leaves the engine as it was", async () => {
    const { state } = tf.engine() as unknown as { readonly state: object };
    const fields = () => {
      const { gradientDepth, kernelDepth, numTensors, numDataBuffers } = state as Record<string, unknown>;
      return { gradientDepth, kernelDepth, numTensors, numDataBuffers, backend: tf.getBackend() };
    };
    const before = fields();
    const build = () => {
      const w = tf.variable(tf.ones([4, 4]));
      const block = checkpoint((): tf.Tensor => {
        tf.sin(tf.matMul(w as never, w as never));
        throw new Error("mine");
      });
      return { forward: () => block(), parameters: { w }, inputs: tf.ones([4, 4]), loss: () => block() as tf.Scalar };
    };
    await expect(traceFakeStep(build, { backend: "cpu" })).rejects.toThrow("mine");
    endCheckpointing();
    expect(fields()).toEqual(before);
  });

  test("modules reach the states that they reach in PyTorch, but those of which nothing needs to be recomputed", () => {
    const [{ golden }] = goldensOf("mem-oracle/1").filter(({ file }) => file.name === "mem_mlp4_ac_adam");
    const { trace } = recorded((tracker) => {
      const layers = [0, 1, 2, 3].map((i) =>
        tf.sequential({
          name: String(i),
          layers: [
            tf.layers.dense({ name: "in_proj", units: 32, activation: "relu", inputShape: [8] }),
            tf.layers.dense({ name: "out_proj", units: 8 }),
          ],
        }),
      );
      return trained(tf.sequential({ name: "Sequential", layers }), [4, 8], "*", tracker);
    });
    const states = new MemTracker()
      .update(trace)
      .modules()
      .map(({ fqn, snapshots }) => [fqn, [...snapshots.keys()].map((state) => labels[state])]);
    const theirs = (golden["results"].stats as { fqn: string; snapshots: object }[]).map(({ fqn, snapshots }) => [
      fqn,
      Object.keys(snapshots).filter((state) => !(fqn.endsWith("out_proj") && state.endsWith("-AC"))),
    ]);
    expect(Object.fromEntries(states)).toEqual(Object.fromEntries(theirs));
  });
});

const nativeFolder = nativeApp();
const backends: readonly BackendName[] = nativeFolder === undefined ? ["cpu"] : ["cpu", "tensorflow"];

describe.each(backends)("on %s", (backend) => {
  beforeAll(async () => {
    await selectBackend({
      for: "training",
      backend,
      ...(backend === "tensorflow" && { from: nativeFolder as string }),
    });
  });

  test.each(Object.keys(cases))(
    "%s: a fake step is a real one, event by event, and its peak is what was held",
    (name) => {
      const real = recorded(cases[name]);
      const fake = fakeMode(() => recorded(cases[name]), { backend });
      expect(countReplayedOps(real.trace)).toBeGreaterThan(0);
      expect(linesOf(fake.trace)).toEqual(linesOf(real.trace));
      expect(fake.peakBytes).toBe(real.peakBytes);
      expect(heldPeak(fake.trace).peakBytes).toBe(real.peakBytes);
    },
  );
});

describe("blocks one after the other", () => {
  const peakOf = async (backend: BackendName, policy: SavePolicy | undefined): Promise<number> => {
    const build = () => {
      const model = tf.sequential({ name: "chain" });
      for (let i = 0; i < 12; i++) {
        model.add(tf.layers.dense({ name: `block_${i}_dense`, units: 16, inputShape: [16] }));
        model.add(tf.layers.activation({ name: `block_${i}_tanh`, activation: "tanh" }));
        model.add(tf.layers.activation({ name: `block_${i}_sigmoid`, activation: "sigmoid" }));
      }
      if (policy !== undefined) checkpointUntilOver(model, "block_*", { policy });
      return { model, inputs: tf.zeros([64, 16]) };
    };
    try {
      return heldPeak(await traceFakeStep(build, { backend, optimizer: "sgd", loss: "meanSquaredError" })).peakBytes;
    } finally {
      endCheckpointing();
    }
  };

  // A native Reshape makes another tensor of its input's data: of the block that reads it, though the data are not.
  test.each<BackendName>(["cpu", "wasm", "tensorflow"])(
    "hold on %s less, the less they save: the result of each stays for the next, which reads a view of it",
    async (backend) => {
      const nothing = await peakOf(backend, () => false);
      const matmuls = await peakOf(backend, saveMatmuls);
      const all = await peakOf(backend, undefined);
      const each = 64 * 16 * 4;
      expect(matmuls - nothing).toBeGreaterThan(9 * each);
      expect(all - matmuls).toBeGreaterThan(9 * each);
    },
  );
});
