import { createRequire } from "node:module";
import { defineModel, type ModelContext, tfNamespace } from "@remat/tracer/step";
import * as tf from "@tensorflow/tfjs";
import { beforeAll, expect, it } from "vitest";
import { memoryOf, plan } from "../src/index.js";

const require = createRequire(import.meta.url);

beforeAll(() => tf.setBackend("cpu"));

/** The packages of a program whose tfjs has a different version from the one that remat finds. */
function anotherCopy(): typeof tf.layers & { sequential: typeof tf.sequential } {
  const path = require.resolve("@tensorflow/tfjs-layers");
  const loaded = require.cache[path];
  delete require.cache[path];
  try {
    const { layers, sequential } = require(path) as typeof tf;
    return { ...layers, sequential };
  } finally {
    require.cache[path] = loaded;
  }
}

it("a model of another copy of tfjs-layers is refused, with what makes one of two", async () => {
  const copy = anotherCopy();
  const model = copy.sequential({ layers: [copy.dense({ units: 2, inputShape: [3] })] });
  expect(model instanceof tf.LayersModel).toBe(false);
  const refused = { code: "TFJS_COPIES", message: expect.stringMatching(/another copy of tfjs-layers .*npm install/) };
  await expect(memoryOf(model)).rejects.toMatchObject(refused);
  await expect(memoryOf({ model, inputs: tf.zeros([1, 3]) })).rejects.toMatchObject(refused);
  await expect(plan(model, { budget: "50%" })).rejects.toMatchObject(refused);
  const own = tf.sequential({ layers: [tf.layers.dense({ name: "own", units: 2, inputShape: [3] })] });
  expect((await memoryOf(own)).peakBytes).toBeGreaterThan(0);
});

it("a model of a module's that is of another copy is said to be so where it is taken", async () => {
  const copy = anotherCopy();
  const given: ModelContext = { tf: tfNamespace(), size: "full", batch: 1, scope: (_name, run) => run() };
  const notesOf = async (made: object) => (await defineModel(() => made, given, "net.mjs")).notes ?? [];
  const said = [expect.stringMatching(/another copy of tfjs-layers .* parameters are unknown.*\{ tf \}/)];
  const model = copy.sequential({ layers: [copy.dense({ name: "foreign", units: 2, inputShape: [3] })] });
  expect(await notesOf(model)).toEqual(said);
  expect(await notesOf({ model, inputs: tf.zeros([1, 3]) })).toEqual(said);
  expect(
    await notesOf(tf.sequential({ layers: [tf.layers.dense({ name: "ours", units: 2, inputShape: [3] })] })),
  ).toEqual([]);
});
