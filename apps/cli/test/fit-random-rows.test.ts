import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dailyRuns } from "@remat/testkit";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-fit-rows-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Row {
  readonly configuration: { readonly way: string };
  readonly batch: number;
  readonly peakBytes: number;
  readonly memoryBytes: number;
  readonly libraryBytes?: number;
  readonly effort?: number;
}

const layer = (class_name: string, config: object = {}) => ({ class_name, config: { ...config, dtype: "float32" } });

const activation = fc.constantFrom("relu", "tanh", "linear");
const dense = fc.record({ units: fc.integer({ min: 2, max: 24 }), activation }).map((config) => layer("Dense", config));
const convolution = fc
  .record({ filters: fc.integer({ min: 1, max: 6 }), kernel_size: fc.integer({ min: 1, max: 3 }), activation })
  .map((config) => layer("Conv2D", { ...config, padding: "same" }));
const between = fc.constantFrom(layer("BatchNormalization"), layer("Dropout", { rate: 0.5 }));
const pool = fc.constantFrom("MaxPooling2D", "AveragePooling2D").map((name) => layer(name, { pool_size: 2 }));

/** A small network of a few ops, of vectors or of images. */
const network = fc
  .oneof(
    fc.record({
      input: fc.constant([12]),
      body: fc.array(fc.oneof(dense, between), { minLength: 1, maxLength: 4 }),
      end: fc.constant([]),
    }),
    fc.record({
      input: fc.constant([8, 8, 2]),
      body: fc
        .tuple(
          fc.array(fc.oneof(convolution, between), { minLength: 1, maxLength: 3 }),
          fc.array(pool, { maxLength: 1 }),
        )
        .map((parts) => parts.flat()),
      end: fc.constant([layer("Flatten")]),
    }),
  )
  .map(({ input, body, end }) => {
    const layers = [...body, ...end, layer("Dense", { units: 3, activation: "softmax" })].map((each, i) => ({
      ...each,
      config: { ...each.config, name: `layer_${i}`, ...(i === 0 && { batch_input_shape: [null, ...input] }) },
    }));
    return {
      class_name: "Sequential",
      config: { name: "random", layers },
      keras_version: "2.19.0",
      backend: "tensorflow",
    };
  });

const ask = async (...args: string[]) => {
  const { code, stdout, stderr } = await remat(...args, "--format", "json");
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
  return JSON.parse(stdout);
};

it("rows hold, of random networks, what memory and plan say of the same step, to the byte", async () => {
  const asked = fc.record({
    network,
    optimizer: fc.constantFrom("sgd", "adam", "rmsprop"),
    backend: fc.constantFrom("cpu", "wasm", "tensorflow"),
    /** The device has memory for a step with this many samples, and a fraction more. */
    samples: fc.integer({ min: 2, max: 20 }),
    share: fc.double({ min: 1, max: 1.1, noNaN: true }),
    objective: fc.constantFrom("throughput", "batch", "memory"),
  });
  const path = join(folder, "model.json");
  const compared = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(asked, async ({ network: model, optimizer, backend, samples, share, objective }) => {
      writeFileSync(path, JSON.stringify(model));
      const step = [path, "--optimizer", optimizer, "--backend", backend, "--device", "cpu"];
      const { peakBytes: room } = await ask("memory", ...step, "--batch", `${samples}`);
      const memory = Math.ceil(room * share);
      const changes = 200;
      const limits = [
        "--iterations",
        `${changes}`,
        "--memory",
        `${memory}B`,
        "--batch",
        "1..24",
        "--objective",
        objective,
        "--workers",
        "1",
      ];
      const { rows } = (await ask("fit", ...step, ...limits)) as { rows: readonly Row[] };
      for (const { configuration, batch, peakBytes, memoryBytes, libraryBytes = 0, effort = 1 } of rows) {
        const { way } = configuration;
        expect(memoryBytes + libraryBytes).toBe(memory);
        expect(peakBytes).toBeLessThanOrEqual(memoryBytes);
        const same = [...step, "--batch", `${batch}`];
        compared.set(way, (compared.get(way) ?? 0) + 1);
        if (way === "recompute") {
          const goal = objective === "memory" ? ["--max-overhead", "30%"] : ["--budget", `${memoryBytes}B`];
          const search = ["--iterations", `${changes * effort}`, "--workers", "1"];
          expect((await ask("plan", ...same, ...goal, ...search)).peakBytes).toBe(peakBytes);
          continue;
        }
        const updated = way === "update-in-backward" ? ["--update-in-backward"] : [];
        const { peakBytes: stock, verdict } = await ask("memory", ...same, ...updated);
        expect(way === "stock" ? stock : verdict.earlyReleasePeakBytes).toBe(peakBytes);
      }
    }),
    { numRuns: dailyRuns(6) },
  );
  expect([...compared.keys()].sort()).toEqual(["early-release", "recompute", "stock", "update-in-backward"]);
});
