import { readFileSync } from "node:fs";
import * as tf from "@tensorflow/tfjs";
import { afterEach, describe, expect, it } from "vitest";
import { corrected } from "../src/corrected-layers.js";
import { loadKerasModel } from "../src/index.js";
import type { LayerClass } from "../src/layers/layer-class.js";
import { missing } from "../src/supplied-layers.js";

afterEach(() => tf.disposeVariables());

/** A model of one layer, in training. */
function training(className: string, config: object, shape: readonly number[]): (x: tf.Tensor) => tf.Tensor {
  const input = { class_name: "InputLayer", config: { name: "x", batch_input_shape: [null, ...shape] } };
  const layer = { class_name: className, config: { name: "r", ...config } };
  const model = loadKerasModel({ class_name: "Sequential", config: { name: "m", layers: [input, layer] } });
  return (x) => model.apply(x, { training: true }) as tf.Tensor;
}

const moments = (values: ArrayLike<number>): { readonly mean: number; readonly deviation: number } => {
  const list = Array.from(values);
  const mean = list.reduce((a, b) => a + b, 0) / list.length;
  return { mean, deviation: Math.sqrt(list.reduce((a, b) => a + (b - mean) ** 2, 0) / list.length) };
};

/** The numbers of each sample. */
const bySample = (x: tf.Tensor): number[][] => {
  const values = Array.from(x.dataSync());
  const size = values.length / (x.shape[0] as number);
  return Array.from({ length: x.shape[0] as number }, (_, i) => values.slice(i * size, (i + 1) * size));
};

// With so many draws that a bound is at least eight standard deviations away.
describe("in training as Keras defines it", () => {
  it.each<[string, object, number[], number[]]>([
    ["Dropout", { rate: 0.3 }, [20_000], [2, 20_000]],
    ["Dropout", { rate: 0.3, noise_shape: [null, 1, 5000] }, [4, 5000], [8, 1, 5000]],
    ["SpatialDropout1D", { rate: 0.4 }, [3, 5000], [8, 1, 5000]],
    ["SpatialDropout2D", { rate: 0.25 }, [2, 2, 5000], [8, 1, 1, 5000]],
    ["SpatialDropout3D", { rate: 0.5 }, [2, 1, 2, 5000], [8, 1, 1, 1, 5000]],
    ["StochasticDepth", { drop_path_rate: 0.2 }, [3], [40_000, 1]],
  ])("%s %j drops its share, scales the rest, and has gradients just there", (className, config, shape, drawn) => {
    const rate = (config as { rate?: number }).rate ?? 0.2;
    const x = tf.randomUniform([drawn[0] as number, ...shape], 1, 2);
    const run = training(className, config, shape);
    let y: tf.Tensor | undefined;
    const gradient = tf.grad((input: tf.Tensor) => {
      y = tf.keep(run(input));
      return tf.sum(y);
    })(x);
    const [given, found, gradients] = [x, y as tf.Tensor, gradient].map((tensor) => tensor.dataSync());
    const factors = Float32Array.from(found as Float32Array, (value, i) => value / (given as Float32Array)[i]!);
    for (const [i, factor] of factors.entries()) {
      const kept = factor === 0 ? 0 : 1 / (1 - rate);
      if (Math.abs(factor - kept) > 1e-5) expect.fail(`element ${i} is scaled by ${factor}, not ${kept}`);
      if (Math.abs((gradients as Float32Array)[i]! - kept) > 1e-5) expect.fail(`gradient ${i} is not ${kept}`);
    }
    const draws = drawn.reduce((a, b) => a * b, 1);
    const keptShare = factors.filter((factor) => factor !== 0).length / factors.length;
    expect(Math.abs(keptShare - (1 - rate))).toBeLessThan(8 * Math.sqrt((rate * (1 - rate)) / draws));
    // One draw for all of an axis of 1.
    const ofAxes = tf.tidy(() => {
      const all = tf.tensor(factors, x.shape);
      const axes = drawn.flatMap((size, axis) => (size === 1 ? [axis] : []));
      return axes.length === 0 ? 0 : (tf.max(tf.sub(tf.max(all, axes), tf.min(all, axes))).dataSync()[0] as number);
    });
    expect(ofAxes).toBeLessThan(1e-6);
  });

  it.each<[string, object, number, number]>([
    ["GaussianNoise", { stddev: 0.5 }, 3, 0.5],
    ["GaussianDropout", { rate: 0.2 }, 3, 3 * Math.sqrt(0.2 / 0.8)],
  ])("%s %j keeps the mean and adds its deviation", (className, config, mean, deviation) => {
    const found = moments(training(className, config, [20_000])(tf.fill([2, 20_000], 3)).dataSync());
    expect(Math.abs(found.mean - mean)).toBeLessThan((8 * deviation) / 200);
    expect(Math.abs(found.deviation / deviation - 1)).toBeLessThan(0.04);
  });

  it("AlphaDropout keeps the mean and deviation of what SELU makes", () => {
    const x = tf.randomNormal([2, 40_000]);
    const found = moments(training("AlphaDropout", { rate: 0.2 }, [40_000])(x).dataSync());
    expect(Math.abs(found.mean)).toBeLessThan(0.05);
    expect(Math.abs(found.deviation - 1)).toBeLessThan(0.05);
  });

  it("RandomFlip leaves a sample as it is or turns it over, as often", () => {
    const x = tf.randomUniform([300, 2, 3, 1]);
    const [as, flipped, turned] = [
      x,
      tf.reverse(x, 2),
      training("RandomFlip", { mode: "horizontal" }, [2, 3, 1])(x),
    ].map(bySample) as [number[][], number[][], number[][]];
    const isFlipped = turned.map((sample, i) => String(sample) === String(flipped[i]));
    isFlipped.forEach((is, i) => {
      if (!is) expect(turned[i]).toEqual(as[i]);
    });
    expect(Math.abs(isFlipped.filter(Boolean).length / 300 - 0.5)).toBeLessThan(8 * Math.sqrt(0.25 / 300));
  });

  it("RandomBrightness moves all of a sample by one part of the range of values", () => {
    const x = tf.fill([300, 2, 2, 3], 0.5);
    const config = { factor: 0.2, value_range: [0, 1] };
    const moved = bySample(training("RandomBrightness", config, [2, 2, 3])(x)).map((sample) => {
      expect(Math.max(...sample) - Math.min(...sample)).toBeLessThan(1e-6);
      return (sample[0] as number) - 0.5;
    });
    expect(Math.max(...moved.map(Math.abs))).toBeLessThanOrEqual(0.2 + 1e-6);
    // Evenly between -0.2 and 0.2.
    expect(Math.abs(moments(moved).deviation - 0.4 / Math.sqrt(12))).toBeLessThan(0.04);
  });

  it("RandomContrast keeps the means of a sample's channels", () => {
    const x = tf.randomUniform([50, 4, 4, 2]);
    const y = training("RandomContrast", { factor: 0.5 }, [4, 4, 2])(x);
    const [before, after] = [x, y].map((each) => tf.mean(each, [1, 2]).dataSync()) as [Float32Array, Float32Array];
    before.forEach((mean, i) => expect(Math.abs(mean - (after[i] as number))).toBeLessThan(5e-7)); // 6e-8
    expect(moments(y.dataSync()).deviation).toBeGreaterThan(0);
  });

  it("RandomCrop takes a window of each sample", () => {
    const x = tf.reshape(tf.range(0, 5 * 6), [1, 5, 6, 1]);
    const run = training("RandomCrop", { height: 2, width: 3 }, [5, 6, 1]);
    const corners = new Set<number>();
    for (let i = 0; i < 60; i++) {
      const window = Array.from(run(x).dataSync());
      const [corner] = window as [number];
      expect(window).toEqual([0, 1, 2, 6, 7, 8].map((offset) => corner + offset));
      corners.add(corner);
    }
    expect(corners.size).toBeGreaterThan(1);
  });

  // A range of one number leaves nothing to chance: what the layer does must be what its documentation says of that number.
  const fixed = (className: string, config: object, shape: readonly number[], x: tf.Tensor): tf.Tensor => {
    const y = training(className, { fill_mode: "constant", fill_value: 9, ...config }, shape)(x);
    expect(y.shape.slice(0, 1)).toEqual(x.shape.slice(0, 1));
    return y;
  };
  const images = tf.tensor(
    Float32Array.from({ length: 2 * 5 * 5 * 2 }, (_, i) => ((i * 37) % 101) / 101),
    [2, 5, 5, 2],
  );
  /** Each pixel of the result from the pixel of `x` at `source`; 9 outside of it. */
  const moved = (x: tf.Tensor, source: (row: number, column: number) => readonly [number, number]): number[] => {
    const [batch, height, width, channels] = x.shape as [number, number, number, number];
    const values = x.dataSync();
    return Array.from({ length: values.length }, (_, i) => {
      const [c, column, row] = [
        i % channels,
        Math.floor(i / channels) % width,
        Math.floor(i / channels / width) % height,
      ];
      const [fromRow, fromColumn] = source(row, column);
      const isInside = fromRow >= 0 && fromRow < height && fromColumn >= 0 && fromColumn < width;
      const sample = Math.floor(i / channels / width / height);
      expect(sample).toBeLessThan(batch);
      return isInside ? values[((sample * height + fromRow) * width + fromColumn) * channels + c]! : 9;
    });
  };
  const expectImages = (found: tf.Tensor, expected: ArrayLike<number>): void =>
    found.dataSync().forEach((value, i) => {
      // Off by 4.5e-6.
      if (!(Math.abs(value - expected[i]!) < 2e-5)) expect.fail(`pixel ${i} is ${value}, expected ${expected[i]}`);
    });

  it("RandomRotation turns by a positive part of a full turn against the clock", () => {
    const quarter = fixed("RandomRotation", { factor: [0.25, 0.25] }, [5, 5, 2], images);
    expectImages(
      quarter,
      moved(images, (row, column) => [column, 4 - row]),
    );
    const half = fixed("RandomRotation", { factor: [0.5, 0.5] }, [5, 5, 2], images);
    expectImages(
      half,
      moved(images, (row, column) => [4 - row, 4 - column]),
    );
  });

  it("RandomTranslation moves down and to the right by positive parts of the height and width", () => {
    const config = { height_factor: [0.4, 0.4], width_factor: [-0.2, -0.2] };
    const found = fixed("RandomTranslation", config, [5, 5, 2], images);
    expectImages(
      found,
      moved(images, (row, column) => [row - 2, column + 1]),
    );
  });

  it("RandomZoom zooms out by a positive part, both ways alike unless told", () => {
    const out = fixed("RandomZoom", { height_factor: [1, 1] }, [5, 5, 2], images);
    expectImages(
      out,
      moved(images, (row, column) => [2 + 2 * (row - 2), 2 + 2 * (column - 2)]),
    );
    const wide = fixed("RandomZoom", { height_factor: [0, 0], width_factor: [1, 1] }, [5, 5, 2], images);
    expectImages(
      wide,
      moved(images, (row, column) => [row, 2 + 2 * (column - 2)]),
    );
  });

  it.each<[string, number, [number, number]]>([
    ["RandomHeight", 0.6, [8, 5]],
    ["RandomHeight", -0.4, [3, 5]],
    ["RandomWidth", 0.6, [5, 8]],
    ["RandomWidth", -0.4, [5, 3]],
  ])("%s by %f resizes one side as tfjs does, with half pixel centers", (className, factor, size) => {
    const found = fixed(className, { factor: [factor, factor] }, [5, 5, 2], images);
    expect(found.shape).toEqual([2, ...size, 2]);
    expectImages(found, tf.image.resizeBilinear(images as tf.Tensor4D, size, false, true).dataSync());
  });
});

/** Draws dropout from attention weights: with equal scores and unit vectors as values, a result is a row of weights. */
function droppedWeights(className: string, config: object, names: readonly string[], size: number): Float32Array {
  const inputs = names.map((name) => ({
    class_name: "InputLayer",
    name,
    config: { name, batch_input_shape: [null, size, size] },
    inbound_nodes: [],
  }));
  const more = names.length === 1 ? { value: ["q", 0, 0] } : {};
  const calls = names.length === 1 ? [[["q", 0, 0, more]]] : [names.map((name) => [name, 0, 0, {}])];
  const layer = { class_name: className, name: "a", config: { name: "a", ...config }, inbound_nodes: calls };
  const model = loadKerasModel({
    class_name: "Functional",
    config: {
      name: "m",
      layers: [...inputs, layer],
      input_layers: names.map((name) => [name, 0, 0]),
      output_layers: [["a", 0, 0]],
    },
  });
  const attention = model.layers.at(-1) as tf.layers.Layer;
  attention.setWeights(
    attention.weights.map(({ shape, name }) => {
      const [rows, columns] = [shape[0] === 1 ? shape[1] : shape[0], shape.at(-1)] as [number, number];
      return /(?:value|attention_output)\/kernel/.test(name)
        ? tf.reshape(tf.eye(rows, columns), shape as number[])
        : tf.zeros(shape as number[]);
    }),
  );
  const unit = tf.tile(tf.expandDims(tf.eye(size), 0), [2, 1, 1]) as tf.Tensor;
  const given = names.length === 1 ? unit : [tf.zerosLike(unit), unit];
  return (model.apply(given, { training: true }) as tf.Tensor).dataSync() as Float32Array;
}

describe("in training, of layers with weights", () => {
  it.each<[string, object, string[]]>([
    ["Attention", { dropout: 0.3 }, ["q", "v"]],
    ["MultiHeadAttention", { dropout: 0.3, num_heads: 1, key_dim: 100, value_dim: 100 }, ["q"]],
    ["GroupQueryAttention", { dropout: 0.3, num_query_heads: 1, num_key_value_heads: 1, head_dim: 100 }, ["q"]],
  ])("%s drops its share of weights and scales the rest", (className, config, names) => {
    const weights = droppedWeights(className, config, names, 100);
    for (const weight of weights)
      if (Math.abs(weight) > 1e-6 && Math.abs(weight - 0.01 / 0.7) > 1e-6) expect.fail(`a weight is ${weight}`);
    const share = weights.filter((weight) => weight > 1e-6).length / weights.length;
    expect(Math.abs(share - 0.7)).toBeLessThan(8 * Math.sqrt((0.3 * 0.7) / weights.length));
  });

  it("AdditiveAttention drops weights, and none without a rate", () => {
    const of = (dropout: number) => droppedWeights("AdditiveAttention", { dropout, use_scale: false }, ["q", "v"], 100);
    expect(of(0).every((weight) => Math.abs(weight - 0.01) < 1e-6)).toBe(true);
    const share = of(0.3).filter((weight) => Math.abs(weight - 0.01 / 0.7) < 1e-6).length / 20_000;
    expect(Math.abs(share - 0.7)).toBeLessThan(8 * Math.sqrt((0.3 * 0.7) / 20_000));
  });

  it.each([
    ["ConvLSTM1D", 1],
    ["ConvLSTM2D", 2],
    ["ConvLSTM3D", 3],
  ])("%s drops numbers of its input and scales the rest", (className, rank) => {
    const shape = [1, ...Array.from({ length: rank }, (_, i) => (i === 0 ? 3000 : 1)), 1];
    const model = loadKerasModel({
      class_name: "Sequential",
      config: {
        name: "m",
        layers: [
          { class_name: "InputLayer", config: { name: "x", batch_input_shape: [null, ...shape] } },
          { class_name: className, config: { name: "r", filters: 1, kernel_size: 1, dropout: 0.25 } },
        ],
      },
    });
    const of = (value: number, trains = false): Float32Array =>
      (model.apply(tf.fill([1, ...shape], value), { training: trains }) as tf.Tensor).dataSync() as Float32Array;
    const [dropped, kept, found] = [of(0)[0] as number, of(1 / 0.75)[0] as number, of(1, true)];
    expect(Math.abs(kept - dropped)).toBeGreaterThan(1e-4);
    const isKept = found.map((value) => (Math.abs(value - kept) < 1e-6 ? 1 : 0));
    found.forEach((value, i) => {
      if (isKept[i] === 0) expect(Math.abs(value - dropped)).toBeLessThan(1e-6);
    });
    const share = isKept.reduce((sum, each) => sum + each, 0) / found.length;
    expect(Math.abs(share - 0.75)).toBeLessThan(8 * Math.sqrt((0.25 * 0.75) / found.length));
  });

  it("GRU with reset_after drops numbers of its input and scales the rest", () => {
    const config = { units: 1, reset_after: true, dropout: 0.25 };
    const x = { class_name: "InputLayer", config: { name: "x", batch_input_shape: [null, 1, 1] } };
    const layers = [x, { class_name: "GRU", config: { name: "r", ...config } }];
    const model = loadKerasModel({ class_name: "Sequential", config: { name: "m", layers } });
    const of = (value: number, trains = false): Float32Array =>
      (model.apply(tf.fill([3000, 1, 1], value), { training: trains }) as tf.Tensor).dataSync() as Float32Array;
    const [dropped, kept, found] = [of(0)[0] as number, of(1 / 0.75)[0] as number, of(1, true)];
    const isKept = found.map((value) => (Math.abs(value - kept) < 1e-6 ? 1 : 0));
    found.forEach((value, i) => {
      if (isKept[i] === 0) expect(Math.abs(value - dropped)).toBeLessThan(1e-6);
    });
    const share = isKept.reduce((sum, each) => sum + each, 0) / found.length;
    expect(Math.abs(share - 0.75)).toBeLessThan(8 * Math.sqrt((0.25 * 0.75) / found.length));
  });

  it("SpectralNormalization divides its kernel by the largest singular value", () => {
    const run = training(
      "SpectralNormalization",
      { layer: { class_name: "Dense", config: { name: "d", units: 1 } } },
      [3],
    );
    const kernel = run(tf.eye(3)).dataSync();
    expect(Math.abs(Math.hypot(...kernel) - 1)).toBeLessThan(1e-5);
  });
});

it("each layer that reads `training` is tested in training", () => {
  const own = { ...missing };
  const Stock = tf.layers.Layer as unknown as LayerClass;
  for (const [name, { make, why }] of Object.entries(corrected))
    if (why.startsWith("always")) own[name] = make(Stock, {});
  const reading = Object.entries(own).filter(([, { prototype }]) => {
    const { call } = prototype as { readonly call?: unknown };
    return /\btraining\b/.test(String(call));
  });
  expect(reading.length).toBeGreaterThan(15);
  // activity-penalty.test.ts tests these in training.
  const elsewhere = new Set(["ActivityRegularization"]);
  const tests = readFileSync(new URL(import.meta.url), "utf8");
  expect(
    reading.map(([name]) => name).filter((name) => !elsewhere.has(name) && !new RegExp(`"${name}[" ]`).test(tests)),
  ).toEqual([]);
});
