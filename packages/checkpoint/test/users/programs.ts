import * as tf from "@tensorflow/tfjs";
import { BudgetError } from "../../src/index.js";
import type { Program } from "./ways.js";

const data = (batch: number, inputs: number[], outputs: number[]) =>
  [tf.randomNormal([batch, ...inputs]), tf.randomNormal([batch, ...outputs])] as const;

/** An error that a program expects must not be an out-of-memory error. */
const unlessOutOfBudget = (error: unknown): unknown => {
  if (error instanceof BudgetError) throw error;
  return error;
};

const drawn = (trainable = true) => tf.tidy(() => tf.variable(tf.randomNormal([8, 8]), trainable));

const endModel = (model: tf.LayersModel) => {
  model.optimizer?.dispose();
  model.dispose();
};

const mlp = (loss = "meanSquaredError", optimizer: string | tf.Optimizer = "adam", last = 2) => {
  const model = tf.sequential();
  model.add(tf.layers.dense({ units: 16, activation: "tanh", inputShape: [8] }));
  model.add(tf.layers.batchNormalization());
  model.add(tf.layers.dense({ units: 16, activation: "relu", kernelRegularizer: tf.regularizers.l1l2({}) }));
  model.add(tf.layers.dropout({ rate: 0.3 }));
  model.add(tf.layers.dense({ units: 16, activation: "elu" }));
  model.add(tf.layers.gaussianNoise({ stddev: 0.1 }));
  model.add(tf.layers.dense({ units: last, activation: loss === "categoricalCrossentropy" ? "softmax" : "linear" }));
  model.compile({ loss, optimizer, metrics: ["accuracy"] } as never);
  return model;
};

/** Complex numbers have no gradient: what is made of them is a constant. */
const complexOf = (x: tf.Tensor): tf.Tensor[] => {
  const complex = tf.complex(x, tf.neg(x));
  const spectrum = tf.fft(complex);
  const held = [tf.real(complex), tf.add(tf.square(tf.real(spectrum)), tf.square(tf.imag(spectrum)))];
  return held.map((each) => tf.tensor(each.dataSync(), each.shape));
};

export const programs: Record<string, Program> = {
  "fit with callbacks, validation split and early stopping": async ({ note, pause, memory }) => {
    const model = mlp();
    const [x, y] = data(40, [8], [2]);
    const history = await model.fit(x, y, {
      epochs: 4,
      batchSize: 16,
      validationSplit: 0.2,
      verbose: 0,
      callbacks: [
        tf.callbacks.earlyStopping({ monitor: "val_loss", patience: 0 }),
        new tf.CustomCallback({
          onBatchEnd: async (batch, logs) => {
            note(`batch ${batch}`, logs?.loss, logs?.acc);
            note("tensors", memory());
            await pause();
          },
          onEpochEnd: async (epoch, logs) => note(`epoch ${epoch}`, logs),
        }),
      ],
    } as never);
    note("history", history.history);
    note("weights", model.getWeights());
    note("evaluated", await (model.evaluate(x, y) as tf.Scalar[])[0].data());
    const predicted = model.predict(x) as tf.Tensor;
    note("predicted", predicted);
    tf.dispose([x, y, predicted]);
    endModel(model);
  },
  "fit with class weights": async ({ note, pause }) => {
    const model = mlp("categoricalCrossentropy", "rmsprop", 3);
    const x = tf.randomNormal([30, 8]);
    const y = tf.tidy(() =>
      tf.oneHot(
        tf.tensor1d(
          Array.from({ length: 30 }, (_, i) => i % 3),
          "int32",
        ),
        3,
      ),
    );
    const history = await model.fit(x, y, {
      epochs: 3,
      batchSize: 10,
      verbose: 0,
      classWeight: { 0: 1, 1: 2, 2: 0.5 },
      callbacks: { onEpochEnd: pause, onBatchEnd: pause },
    });
    note("history", history.history);
    note("weights", model.getWeights());
    tf.dispose([x, y]);
    endModel(model);
  },
  "fitDataset with validation data": async ({ note, pause }) => {
    const model = mlp("meanSquaredError", "sgd");
    const [x, y] = data(24, [8], [2]);
    const xs = tf.data.array(x.arraySync() as never);
    const ys = tf.data.array(y.arraySync() as never);
    const dataset = tf.data.zip({ xs, ys } as never).batch(6);
    const history = await model.fitDataset(dataset as never, {
      epochs: 3,
      verbose: 0,
      validationData: dataset as never,
      callbacks: { onBatchEnd: pause },
    });
    note("history", history.history);
    note("weights", model.getWeights());
    tf.dispose([x, y]);
    endModel(model);
  },
  "trainOnBatch, several outputs and losses, frozen layer": async ({ note, pause, memory }) => {
    const input = tf.input({ shape: [8] });
    const frozen = tf.layers.dense({ units: 16, activation: "tanh", trainable: false });
    const h = tf.layers.dense({ units: 16, activation: "tanh" }).apply(frozen.apply(input)) as tf.SymbolicTensor;
    const a = tf.layers.dense({ units: 3, activation: "softmax", name: "a" }).apply(h) as tf.SymbolicTensor;
    const b = tf.layers
      .dense({ units: 1, name: "b" })
      .apply(tf.layers.add().apply([h, frozen.apply(input) as tf.SymbolicTensor])) as tf.SymbolicTensor;
    const model = tf.model({ inputs: input, outputs: [a, b] });
    model.compile({
      optimizer: tf.train.adam(0.01),
      loss: ["categoricalCrossentropy", "meanSquaredError"],
      metrics: ["mae"],
    });
    const [x, y] = data(32, [8], [1]);
    const labels = tf.tidy(() =>
      tf.oneHot(
        tf.tensor1d(
          Array.from({ length: 32 }, (_, i) => i % 3),
          "int32",
        ),
        3,
      ),
    );
    for (let i = 0; i < 4; i++) {
      note(`step ${i}`, await model.trainOnBatch(x, [labels, y]), memory());
      await pause();
    }
    note("weights", model.getWeights());
    tf.dispose([x, y, labels]);
    endModel(model);
  },
  "optimizer switched in the middle, models that share layers": async ({ note, pause, memory }) => {
    const shared = tf.layers.dense({ units: 16, activation: "tanh", inputShape: [8] });
    const one = tf.sequential({ layers: [shared, tf.layers.dense({ units: 1 })] });
    const input = tf.input({ shape: [8] });
    const two = tf.model({
      inputs: input,
      outputs: tf.layers
        .dense({ units: 2, activation: "sigmoid" })
        .apply(tf.layers.dense({ units: 16 }).apply(shared.apply(input) as tf.SymbolicTensor)) as tf.SymbolicTensor,
    });
    one.compile({ optimizer: "sgd", loss: "meanSquaredError" });
    two.compile({ optimizer: tf.train.adadelta(), loss: "binaryCrossentropy" });
    const [x, y] = data(16, [8], [1]);
    const y2 = tf.ones([16, 2]);
    for (let i = 0; i < 6; i++) {
      note(`one ${i}`, await one.trainOnBatch(x, y), memory());
      note(`two ${i}`, await two.trainOnBatch(x, y2), memory());
      if (i === 2) {
        one.optimizer.dispose();
        one.compile({ optimizer: tf.train.momentum(0.1, 0.9, true), loss: "meanAbsoluteError" });
      }
      await pause();
    }
    note("weights", one.getWeights(), two.getWeights());
    tf.dispose([x, y, y2]);
    endModel(one);
    endModel(two);
  },
  "stateful and plain LSTM, GRU, bidirectional, embedding": async ({ note, pause, memory }) => {
    const model = tf.sequential();
    model.add(tf.layers.embedding({ inputDim: 12, outputDim: 6, batchInputShape: [4, 2], maskZero: false }));
    model.add(
      tf.layers.bidirectional({
        layer: tf.layers.gru({ units: 4, returnSequences: true, recurrentInitializer: "glorotNormal" }) as tf.RNN,
        mergeMode: "concat",
      }),
    );
    model.add(
      tf.layers.lstm({
        units: 5,
        stateful: true,
        returnSequences: true,
        dropout: 0.2,
        recurrentDropout: 0.2,
        recurrentInitializer: "glorotNormal",
      }),
    );
    model.add(tf.layers.simpleRNN({ units: 3, stateful: true, recurrentInitializer: "glorotNormal" }));
    model.add(tf.layers.dense({ units: 1 }));
    model.compile({ optimizer: "rmsprop", loss: "meanSquaredError" });
    const x = tf.tensor2d(
      Array.from({ length: 8 }, (_, i) => (i * 7) % 12),
      [4, 2],
    );
    const y = tf.randomNormal([4, 1]);
    for (let i = 0; i < 3; i++) {
      note(`step ${i}`, await model.trainOnBatch(x, y), memory());
      await pause();
      if (i === 1) model.resetStates();
    }
    note("weights", model.getWeights());
    const predicted = model.predict(x) as tf.Tensor;
    note("predicted", predicted);
    tf.dispose([x, y, predicted]);
    endModel(model);
  },
  "custom loop that keeps and reads activations in the middle": async ({ note, pause, memory }) => {
    const w = drawn();
    const v = drawn();
    const optimizer = tf.train.adam(0.01);
    const x = tf.randomNormal([32, 8]);
    let before: tf.Tensor | undefined;
    for (let i = 0; i < 4; i++) {
      let kept: tf.Tensor[] = [];
      const pending: Promise<unknown>[] = [];
      const loss = optimizer.minimize(
        () => {
          const h = tf.keep(tf.tanh(tf.matMul(x, w)));
          const view = tf.keep(h.reshape([8, 32]));
          const k = tf.tidy(() => tf.mul(tf.exp(h), tf.sigmoid(h)));
          note(`h ${i}`, h);
          pending.push(k.data());
          const z = tf.sin(tf.matMul(before === undefined ? k : tf.add(k, before), v));
          note(`k ${i}`, k, memory());
          const part = tf.keep(z.slice([0, 0], [4, 8]));
          kept = [h, view, part];
          return tf.mean(tf.square(z)) as tf.Scalar;
        },
        true,
        [w, v],
      );
      note(`loss ${i}`, loss, ...kept, ...(await Promise.all(pending)));
      loss?.dispose();
      before?.dispose();
      before = kept[0].clone();
      tf.dispose(kept);
      note("count", memory());
      await pause();
    }
    note("weights", w, v);
    tf.dispose([w, v, x, before as tf.Tensor]);
    optimizer.dispose();
  },
  "grads, valueAndGrads, second derivatives and customGrad": async ({ note, pause, memory }) => {
    const x = tf.randomNormal([6, 6]);
    const dy = tf.randomNormal([6, 6]);
    const f = (a: tf.Tensor) => tf.tanh(tf.matMul(tf.exp(tf.mul(a, 0.1)), a));
    const relu6 = tf.customGrad((a, save) => {
      const t = a as tf.Tensor;
      (save as (ts: tf.Tensor[]) => void)([t, tf.sigmoid(t)]);
      return {
        value: tf.clipByValue(t, 0, 6),
        gradFunc: (d, [saved, s]: tf.Tensor[]) => tf.mul(d as tf.Tensor, tf.mul(s, tf.step(saved))),
      };
    });
    const returnsDy = tf.customGrad((a) => ({ value: tf.add(a as tf.Tensor, 1), gradFunc: (d) => d as tf.Tensor }));
    const returnsSaved = tf.customGrad((a, save) => {
      (save as (ts: tf.Tensor[]) => void)([a as tf.Tensor]);
      return { value: tf.square(a as tf.Tensor), gradFunc: (_, [s]: tf.Tensor[]) => s };
    });
    for (let i = 0; i < 3; i++) {
      const got: tf.Tensor[] = [];
      got.push(tf.grad(f)(x, dy));
      const { value, grads } = tf.valueAndGrads((a, b) => tf.mul(f(a), returnsDy(returnsSaved(relu6(b)))))([x, dy]);
      got.push(value, ...grads);
      got.push(
        tf.grad((a) =>
          tf
            .grad((b) => f(b).sum())(a)
            .square(),
        )(x),
      );
      got.push(tf.grad((a) => tf.grad((b) => tf.grad((c) => tf.mul(c, tf.mul(c, tf.sin(c))))(b))(a))(x));
      got.push(...tf.grads((a, b) => tf.add(tf.mod(a, b), tf.mod(b, a)))([x, dy]));
      note(`step ${i}`, ...got, memory());
      tf.dispose(got);
      await pause();
    }
    tf.dispose([x, dy]);
  },
  "weights assigned in the forward pass, a variable disposed of midway": async ({ note, pause, memory }) => {
    const w = drawn();
    const average = tf.tidy(() => tf.variable(tf.zeros([8]), false));
    const x = tf.randomNormal([16, 8]);
    for (let i = 0; i < 3; i++) {
      const temporary = drawn(false);
      const { value, grads } = tf.variableGrads(() => {
        const h = tf.tanh(tf.matMul(x, w));
        const g = tf.sin(tf.matMul(h, temporary));
        average.assign(tf.tidy(() => tf.add(tf.mul(average, 0.9), tf.mul(tf.mean(g, 0), 0.1))));
        const z = tf.mul(tf.sub(g, average), tf.exp(tf.mul(g, average)));
        average.assign(z.slice([0, 0], [1, 8]).reshape([8]));
        const c = tf.cos(z);
        temporary.dispose();
        return tf.mean(tf.mul(c, z)) as tf.Scalar;
      }, [w]);
      note(`step ${i}`, value, grads, average, memory());
      w.assign(tf.tidy(() => tf.sub(w, tf.mul(grads[w.name], 0.1))));
      tf.dispose([value, grads]);
      await pause();
    }
    note("weights", w);
    tf.dispose([w, average, x]);
  },
  "views, lists, einsum, int32, bool, strings and complex numbers": async ({ note, pause, memory }) => {
    const w = drawn();
    const x = tf.randomNormal([8, 8]);
    const words = tf.tensor1d(["a", "b"]);
    for (let i = 0; i < 3; i++) {
      const { value, grads } = tf.variableGrads(() => {
        const h = tf.matMul(x, w);
        const rows = tf.unstack(tf.tanh(h));
        const [left, right] = tf.split(tf.sin(h), 2, 1);
        const joined = tf.concat([left, right, tf.concat([tf.exp(left)])], 1);
        const stacked = tf.stack([...rows, rows[0]]);
        const product = tf.einsum("ij,kj->ik", x, x);
        const e = tf.mul(stacked, tf.matMul(stacked, tf.mul(joined.slice([0, 0], [8, 8]), product)));
        const top = tf.topk(x, 3);
        const ids = tf.argMax(e, 1).toInt();
        const mask = tf.greater(tf.concat([x, x.slice([0, 0], [1, 8])]), 0);
        const looked = tf.gather(stacked, [0, 3, 3, 7, 8, 1, 2, 4, 5]);
        const [part, magnitude] = complexOf(looked);
        note("parts", part, magnitude);
        const reversed = tf.reverse(tf.transpose(tf.expandDims(tf.where(mask, e, tf.zerosLike(e)), 0), [0, 2, 1]), 1);
        const text = tf.reshape(words, [2, 1]);
        note(`seen ${i}`, [...text.dataSync()].join(), tf.stridedSlice(e, [0, 0], [4, 8], [1, 2]), ids, mask, memory());
        return tf.addN([
          tf.mean(reversed),
          tf.sum(top.values),
          tf.sum(tf.mul(part, looked)),
          tf.mean(tf.add(looked, magnitude.slice([0, 0], [1, 1]))),
          tf.mean(tf.relu(e)),
        ]) as tf.Scalar;
      }, [w]);
      note(`step ${i}`, value, grads);
      tf.dispose([value, grads]);
      await pause();
    }
    tf.dispose([w, x, words]);
  },
  "convolutions, pooling, batch normalisation, upsampling": async ({ note, pause, memory }) => {
    const model = tf.sequential();
    model.add(tf.layers.conv2d({ filters: 4, kernelSize: 3, padding: "same", inputShape: [8, 8, 2] }));
    model.add(tf.layers.batchNormalization());
    model.add(tf.layers.reLU());
    model.add(tf.layers.depthwiseConv2d({ kernelSize: 3, padding: "same" }));
    model.add(tf.layers.maxPooling2d({ poolSize: 2 }));
    model.add(tf.layers.separableConv2d({ filters: 4, kernelSize: 3, padding: "same", activation: "relu" }));
    model.add(tf.layers.upSampling2d({ size: [2, 2] }));
    model.add(tf.layers.averagePooling2d({ poolSize: 2 }));
    model.add(tf.layers.dropout({ rate: 0.2 }));
    model.add(tf.layers.flatten());
    model.add(tf.layers.layerNormalization());
    model.add(tf.layers.dense({ units: 2 }));
    model.compile({ optimizer: "adamax", loss: "meanSquaredError" });
    const [x, y] = data(6, [8, 8, 2], [2]);
    for (let i = 0; i < 3; i++) {
      note(`step ${i}`, await model.trainOnBatch(x, y), memory());
      await pause();
    }
    note("weights", model.getWeights());
    tf.dispose([x, y]);
    endModel(model);
  },
  "a fit that a callback breaks off, then another": async ({ note, pause, memory }) => {
    const model = mlp();
    const [x, y] = data(40, [8], [2]);
    const fit = (breaksOff: "batch" | "epoch" | undefined) =>
      model.fit(x, y, {
        epochs: 2,
        batchSize: 16,
        shuffle: false,
        verbose: 0,
        callbacks: {
          onBatchEnd: async (batch) => {
            await pause();
            if (breaksOff === "batch" && batch === 1) throw new Error("enough of batches");
          },
          onEpochEnd: () => {
            if (breaksOff === "epoch") throw new Error("enough of epochs");
          },
        },
      });
    for (const breaksOff of ["batch", undefined, "epoch", undefined, "batch"] as const) {
      try {
        note("history", (await fit(breaksOff)).history);
      } catch (error) {
        note("broken off", unlessOutOfBudget(error));
      }
      note("tensors", memory());
    }
    note("weights", model.getWeights());
    tf.dispose([x, y]);
    endModel(model);
  },
  "own scopes, tf.profile and tf.time inside": async ({ note, pause }) => {
    const w = drawn();
    const x = tf.randomNormal([8, 8]);
    for (let i = 0; i < 3; i++) {
      tf.engine().startScope();
      const profile = await tf.profile(() => {
        const { value, grads } = tf.variableGrads(() => {
          tf.engine().startScope();
          const h = tf.keep(tf.tanh(tf.matMul(x, w)));
          tf.engine().endScope();
          return tf.mean(tf.mul(h, tf.exp(h))) as tf.Scalar;
        }, [w]);
        note(`step ${i}`, value, grads);
        return value;
      });
      note("profile", profile.newTensors, profile.newBytes, profile.kernels.length >= 8, profile.result);
      tf.engine().endScope();
      const { kernelMs, wallMs } = await tf.time(() => {
        tf.tidy(() => void tf.variableGrads(() => tf.mean(tf.sin(tf.matMul(x, w))) as tf.Scalar, [w]));
      });
      note("time", kernelMs !== undefined, wallMs > 0);
      await pause();
    }
    tf.dispose([w, x]);
  },
  "debug mode, which reads what every kernel has made": async ({ note, pause, memory }) => {
    const w = drawn();
    const x = tf.randomNormal([16, 8]);
    const optimizer = tf.train.momentum(0.1, 0.9);
    const warned: unknown[] = [];
    const { log, warn } = console;
    console.log = () => {};
    console.warn = (message: unknown) => void warned.push(message);
    const isDebug = tf.env().getBool("DEBUG");
    tf.env().set("DEBUG", true);
    try {
      for (let i = 0; i < 3; i++) {
        const loss = optimizer.minimize(
          () => {
            let h = tf.tanh(tf.matMul(x, w));
            for (let layer = 0; layer < 4; layer++) h = tf.mul(tf.sin(h), tf.exp(tf.neg(h)));
            return tf.mean(i === 1 ? tf.sqrt(tf.sub(h, 10)) : h) as tf.Scalar;
          },
          true,
          [w],
        );
        note(`step ${i}`, loss, w, memory());
        loss?.dispose();
        // The values arrive when the step is over.
        await new Promise((resolve) => setTimeout(resolve, 5));
        note("NaN is told of", warned.splice(0).length > 0);
        await pause();
      }
    } finally {
      tf.env().set("DEBUG", isDebug);
      Object.assign(console, { log, warn });
    }
    tf.dispose([w, x]);
    optimizer.dispose();
  },
  "a step that fails, then one that does not": async ({ note, pause }) => {
    const w = drawn();
    const x = tf.randomNormal([32, 8]);
    const step = (fails?: string) => {
      const { value, grads } = tf.variableGrads(() => {
        const h = tf.tanh(tf.matMul(x, w));
        const k = tf.exp(tf.sin(h));
        if (fails === "loss") throw new Error("loss");
        if (fails === "shape") tf.matMul(k, tf.zeros([3, 3]));
        const g = tf.customGrad((a) => ({
          value: tf.mul(a as tf.Tensor, 2),
          gradFunc: (dy) => {
            if (fails === "gradient") throw new Error("gradient");
            return tf.mul(dy as tf.Tensor, fails === "dtype" ? tf.scalar(1) : 2);
          },
        }))(tf.mul(k, h));
        if (fails === "no tensor") return 3 as never;
        if (fails === "no scalar") return g as never;
        return tf.mean(g) as tf.Scalar;
      }, [w]);
      note("step", value, grads);
      tf.dispose([value, grads]);
    };
    for (const fails of [
      undefined,
      "loss",
      undefined,
      "shape",
      "gradient",
      undefined,
      "no tensor",
      "no scalar",
      undefined,
      "loss",
      undefined,
    ]) {
      try {
        tf.tidy(() => step(fails));
      } catch (error) {
        note("failed", fails, unlessOutOfBudget(error));
      }
      await pause();
    }
    tf.dispose([w, x]);
  },
};

/** Programs with steps that fail. */
export const failing: ReadonlySet<string> = new Set(["a step that fails, then one that does not"]);
