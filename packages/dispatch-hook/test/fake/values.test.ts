import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { DataDependentError, fakeMode, fakeTensor, nameModulesBy } from "../../src/fake/index.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

const huge = [12_288, 49_152];
const arrayMegabytes = (): number => process.memoryUsage().arrayBuffers / 2 ** 20;

/** The error that reading a tensor throws. */
function readError(make: () => tf.Tensor): DataDependentError {
  return fakeMode(() => {
    const tensor = make();
    try {
      tensor.dataSync();
    } catch (error) {
      return error as DataDependentError;
    }
    throw new Error("the values could be read");
  });
}

describe("constants that JavaScript gives can be read", () => {
  test.each<[string, () => tf.Tensor, unknown[]]>([
    ["tensor", () => tf.tensor([2, 3]), [2, 3]],
    ["scalar", () => tf.scalar(7, "int32"), [7]],
    ["bool", () => tf.tensor1d([true, false]), [1, 0]],
    ["string", () => tf.tensor1d(["a", "bc"]), ["a", "bc"]],
    ["typed array", () => tf.tensor(new Float32Array(2000).fill(5)), new Array(2000).fill(5)],
    ["buffer", () => tf.buffer([2], "int32", Int32Array.of(1, 2)).toTensor(), [1, 2]],
    ["variable", () => tf.variable(tf.tensor([4])), [4]],
    ["clone", () => tf.tensor([4]).clone(), [4]],
    ["reshape", () => tf.tensor([4, 5]).reshape([2, 1]), [4, 5]],
    ["expandDims", () => tf.tensor([4, 5]).expandDims(0), [4, 5]],
    ["real", () => tf.real(tf.complex([1, 2], [3, 4])), [1, 2]],
    ["imag", () => tf.imag(tf.complex([1, 2], [3, 4])), [3, 4]],
    ["complex", () => tf.complex([1, 2], [3, 4]), [1, 3, 2, 4]],
    ["nothing", () => tf.tensor([], [0, 3]), []],
    ["small zeros", () => tf.zeros([2]), [0, 0]],
    ["small eye", () => tf.eye(2), [1, 0, 0, 1]],
  ])("%s", (_, make, values) => {
    for (const backend of ["cpu", "tensorflow"] as const) {
      expect(fakeMode(() => Array.from(make().dataSync() as ArrayLike<unknown>), { backend })).toEqual(values);
    }
  });

  test("in every way of reading", async () => {
    const read = await fakeMode(async () => {
      const x = tf.tensor([1, 2]);
      return [x.arraySync(), await x.array(), [...(await x.data())], x.bufferSync().get(1), x.toString()];
    });
    expect(read).toEqual([[1, 2], [1, 2], [1, 2], 2, "Tensor\n    [1, 2]"]);
  });
});

describe("values that were never computed cannot be read", () => {
  test.each<[string, () => tf.Tensor, string]>([
    ["op", () => tf.matMul(tf.ones([2, 2]), tf.ones([2, 2])), "BatchMatMul"],
    ["clone of an op", () => tf.relu(tf.ones([2])).clone(), "Relu"],
    ["large constant", () => tf.tensor(new Float32Array(70_000)), "a large constant"],
    ["zeros", () => tf.zeros(huge), "a fill in JavaScript"],
    ["random numbers", () => tf.randomNormal([2000]), "a fill in JavaScript"],
    [
      "weight",
      () => tf.layers.dense({ units: 1, inputShape: [1] }).apply(tf.input({ shape: [1] })) && weightOf("glorotUniform"),
      "initializer GlorotUniform",
    ],
    ["orthogonal weight", () => weightOf("orthogonal"), "initializer Orthogonal"],
    ["zero bias", () => weightOf("zeros"), "initializer Zeros"],
    ["fakeTensor", () => fakeTensor([2]), "a call of fakeTensor"],
  ])("%s", (_, make, madeBy) => {
    const error = readError(make);
    expect(error).toBeInstanceOf(DataDependentError);
    expect(error).toMatchObject({
      name: "DataDependentError",
      code: "DATA_DEPENDENT",
      kernel: madeBy,
      module: undefined,
    });
    expect(error.message).toContain(madeBy);
  });

  test("also asynchronously, and by kernels that need values", async () => {
    await expect(fakeMode(() => tf.relu(tf.ones([2])).data())).rejects.toThrow(DataDependentError);
    await expect(fakeMode(() => tf.whereAsync(tf.greater(tf.ones([2]), 0)))).rejects.toThrow(/Greater/);
    expect(() => fakeMode(() => tf.unique(tf.relu(tf.ones([2]))))).toThrow(
      /output shapes of kernel Unique depend on values/,
    );
  });

  test("and the error names the module that was running", () => {
    const stop = nameModulesBy(() => "encoder.0");
    const inner = nameModulesBy(() => "encoder.0.mlp");
    const read = (): DataDependentError => readError(() => tf.relu(tf.ones([1])));
    expect(read()).toMatchObject({
      module: "encoder.0.mlp",
      message: expect.stringContaining("(in module 'encoder.0.mlp')"),
    });
    inner();
    inner();
    expect(read().module).toBe("encoder.0");
    stop();
    expect(read().module).toBeUndefined();
  });
});

describe("a number that is read between steps only reports, and is NaN", () => {
  test("in fit, evaluate and loops", async () => {
    const seen = await fakeMode(async () => {
      const model = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [3] })] });
      model.compile({ optimizer: "adam", loss: "meanSquaredError", metrics: ["mae"] });
      const [x, y] = [tf.zeros([4, 3]), tf.zeros([4, 2])];
      const { history } = await model.fit(x, y, { epochs: 2, batchSize: 2, verbose: 0 });
      const trained = await model.trainOnBatch(x, y);
      const scores = (model.evaluate(x, y) as tf.Scalar[]).map((score) => score.dataSync()[0]);
      return [history.loss, history.mae, trained, scores];
    });
    const { NaN: none } = Number;
    expect(seen).toEqual([
      [none, none],
      [none, none],
      [none, none],
      [none, none],
    ]);
  });

  test("but not within a pass or a module, nor an index, nor a list", () => {
    const read = (make: () => tf.Tensor) => () => fakeMode(() => void make().dataSync());
    const norm = () => tf.sum(tf.relu(tf.ones([2])));
    expect(read(norm)).not.toThrow();
    expect(read(() => tf.grad((x) => tf.mul(x, norm().dataSync()[0]))(tf.ones([1])))).toThrow(DataDependentError);
    expect(read(() => tf.argMax(tf.relu(tf.ones([2]))))).toThrow(DataDependentError);
    expect(read(() => tf.reshape(tf.relu(tf.ones([1])), [1]))).toThrow(DataDependentError);
    const stop = nameModulesBy(() => "block");
    expect(read(norm)).toThrow(/in module 'block'/);
    stop();
  });
});

function weightOf(initializer: string): tf.Tensor {
  const layer = tf.layers.dense({ units: 3, kernelInitializer: initializer as "zeros" });
  layer.build([null, 3]);
  return layer.getWeights()[0];
}

describe("large fills are skipped", () => {
  test("unless they are asked for, in a mode of its own or inside of another", () => {
    const filled = () => tf.buffer([2000]).values.length;
    expect(fakeMode(filled, { fillArrays: true })).toBe(2000);
    const lengths = fakeMode(() => [filled(), fakeMode(filled, { fillArrays: true }), filled()]);
    expect(lengths).toEqual([0, 2000, 0]);
    expect(() => fakeMode(() => tf.reshape(tf.ones([2000]), [3]), { fillArrays: true })).toThrow(/do not fit/);
    expect(fakeMode(filled)).toBe(0);
  });

  test("without allocating", () => {
    const before = arrayMegabytes();
    let most = 0;
    fakeMode(() => {
      const made = [
        tf.zeros(huge),
        tf.ones(huge, "int32"),
        tf.zeros(huge, "bool"),
        tf.fill(huge, 3),
        tf.randomUniform(huge),
        tf.randomNormal(huge),
        tf.truncatedNormal(huge),
        tf.randomGamma(huge, 1),
        tf.randomUniformInt(huge, 0, 9),
        tf.eye(huge[0], huge[1]),
        tf.oneHot(tf.zeros([huge[0]], "int32"), huge[1]),
        tf.zerosLike(tf.ones(huge)),
        tf.complex(tf.zeros(huge), tf.zeros(huge)),
        tf.dropout(tf.ones(huge), 0.5),
        tf.buffer(huge as [number, number]).toTensor(),
        tf.variable(tf.zeros(huge)),
        ...[
          "zeros",
          "ones",
          "glorotNormal",
          "heUniform",
          "randomUniform",
          "truncatedNormal",
          "leCunNormal",
          "identity",
          "orthogonal",
        ].map((name) => {
          const layer = tf.layers.dense({ units: 8192, kernelInitializer: name as "zeros" });
          layer.build([null, 8192]);
          return layer.getWeights()[0];
        }),
      ];
      const shapes = made.slice(0, 16).map(({ shape }) => shape);
      expect(shapes).toEqual(new Array(16).fill(huge));
      most = arrayMegabytes() - before;
    });
    expect(most).toBeLessThan(1);
  });

  test("for gradients that did not arrive and for optimizer slots", () => {
    const before = arrayMegabytes();
    fakeMode(() => {
      const weight = tf.variable(tf.zeros(huge));
      const optimizer = tf.train.adam();
      optimizer.minimize(() => tf.split(weight, 2, 1)[0].sum());
      optimizer.minimize(() => weight.sum());
      expect(arrayMegabytes() - before).toBeLessThan(1);
    });
  });

  test("but those of the user's own arrays are not", () => {
    const { sum, same } = fakeMode(() => {
      const own = new Float32Array(100_000).fill(2);
      const copy = Float32Array.from(own);
      class Sub extends Int32Array {}
      return {
        sum: own.reduce((a, b) => a + b, 0) + copy[99_999],
        same: new Sub(2000).length + new Uint8Array(5000).length,
      };
    });
    expect([sum, same]).toEqual([200_002, 7000]);
  });

  test("and Math.random is called as often as ever", () => {
    const draws = (run: () => void): number => {
      const random = vi.spyOn(Math, "random");
      run();
      const { length } = random.mock.calls;
      random.mockRestore();
      return length;
    };
    const fill = (): void => {
      tf.tidy(() => {
        tf.randomNormal([50, 50]);
        tf.dropout(tf.ones([50, 50]), 0.5);
        tf.truncatedNormal([50, 50], 0, 1, "float32", 3);
        tf.multinomial(tf.ones([1, 2]) as tf.Tensor2D, 3);
        weightOf("glorotUniform");
      });
    };
    expect(draws(() => fakeMode(fill))).toBe(draws(fill));
    expect(draws(fill)).toBeGreaterThan(2);
  });

  test("and arrays that are wanted small are filled", () => {
    const values = fakeMode(() => [...tf.randomUniform([100], 1, 2).dataSync()]);
    expect(values.every((value) => value >= 1 && value < 2)).toBe(true);
  });
});
