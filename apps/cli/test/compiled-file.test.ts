import { createReadStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readTrace } from "@remat/trace";
import "@tensorflow/tfjs-backend-cpu";
import * as tf from "@tensorflow/tfjs-core";
import * as layers from "@tensorflow/tfjs-layers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-compiled-"));
beforeAll(() => tf.setBackend("cpu"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The kernels of a step, of a file or a module. */
async function kernelsOf(target: string): Promise<readonly string[]> {
  const trace = join(folder, "trace.jsonl");
  const asked = ["--batch", "4", "--backend", "cpu", "--trace", trace, "--format", "json"];
  const { code, stderr } = await remat("memory", target, ...asked);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const read = await readTrace(createReadStream(trace));
  return Array.from({ length: read.ops.count }, (_, op) => read.opName(op));
}

it.each(["categoricalCrossentropy", "meanSquaredError", "binaryCrossentropy"])(
  "a compiled model that tfjs has saved takes the step of the program that saved it: %s",
  async (loss) => {
    const source = `
      const model = tf.sequential({ name: "saved" });
      model.add(tf.layers.dense({ units: 5, activation: "tanh", inputShape: [3], name: "first" }));
      model.add(tf.layers.dense({ units: 2, activation: "softmax", name: "second" }));
      model.compile({ optimizer: tf.train.adam(0.01), loss: "${loss}", metrics: ["accuracy"] });
      return model;`;
    const module = join(folder, `${loss}.mjs`);
    writeFileSync(module, `export default ({ tf }) => {${source}\n};\n`);
    const { default: build } = (await import(module)) as { default(_: object): layers.LayersModel };
    const model = build({ tf: { ...layers, layers: layers.layers, train: tf.train } });
    const file = join(folder, `${loss}.json`);
    await model.save(
      tf.io.withSaveHandler(async ({ modelTopology, trainingConfig }) => {
        writeFileSync(
          file,
          JSON.stringify({ format: "layers-model", modelTopology, trainingConfig, weightsManifest: [] }),
        );
        return { modelArtifactsInfo: { dateSaved: new Date(0), modelTopologyType: "JSON" } };
      }),
      { includeOptimizer: true },
    );
    model.dispose();
    expect(await kernelsOf(file)).toEqual(await kernelsOf(module));
  },
  60_000,
);
