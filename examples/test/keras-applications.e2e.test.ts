import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";
import { measurePeakBytes, withMemoryBudget } from "@remat/checkpoint";
import { selectBackend } from "@remat/dispatch-hook/backends/node";
import { loadKerasModel } from "@remat/keras-loader";
import { nativeApp } from "@remat/testkit";
import { prepareStep } from "@remat/tracer";
import type * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, it } from "vitest";

/** Native is there where a folder is named in which tfjs-node is installed with its addon. */
const nativeFolder = nativeApp();
const packed = readFileSync(new URL("../../packages/keras-loader/test/fixtures/applications.json.br", import.meta.url));
const applications = () =>
  JSON.parse(brotliDecompressSync(packed).toString("utf8")) as Record<
    string,
    Record<string, { readonly topology: object }>
  >;

/**
 * A sample of the models of `pnpm bench:keras`: depthwise convolutions, grouped convolutions, and normalizations that
 * tfjs-layers alone cannot train.
 */
const sample = [
  ["3", "MobileNet"],
  ["2", "RegNetX002"],
  ["2", "InceptionV3"],
] as const;

describe.runIf(nativeFolder !== undefined)("keras.applications on tensorflow", () => {
  beforeAll(async () => {
    await selectBackend({ for: "training", backend: "tensorflow", from: nativeFolder as string });
  });

  it.each(sample)(
    "with Keras %s: %s trains within half of the baseline's memory, bitwise identical",
    async (...of) => {
      const [generation, name] = of;
      const topology = applications()[generation]?.[name]?.topology as object;
      const take = async (run: <T>(step: () => Promise<T>) => Promise<T>) => {
        const step = await prepareStep(() => loadKerasModel(topology), { batch: 2, name });
        const seen: (readonly [what: string, bytes: Buffer])[] = [];
        const look = (what: string, tensors: readonly tf.Tensor[]): void => {
          for (const tensor of tensors) seen.push([what, Buffer.from(tensor.dataSync().buffer.slice(0))]);
        };
        try {
          const weights = step.definition.model?.getWeights() ?? [];
          const observer = {
            loss: (value: tf.Tensor) => look("loss", [value]),
            gradients: (gradients: tf.NamedTensorMap) => look("gradient", Object.values(gradients)),
          };
          const { peakBytes } = await run(() => measurePeakBytes(() => step.take(observer), weights));
          look("weight", weights);
          return { peakBytes, seen };
        } finally {
          step.dispose();
        }
      };
      const stock = await take((step) => step());
      const half = await take((step) => withMemoryBudget(0.5 * stock.peakBytes, step, { planningMs: 0 }));
      expect(half.peakBytes).toBeLessThanOrEqual(0.5 * stock.peakBytes);
      expect(half.seen.length).toBe(stock.seen.length);
      const differing = stock.seen.flatMap(([what, bytes], i) =>
        half.seen[i]?.[1].equals(bytes) ? [] : [`${what} ${i}`],
      );
      expect(differing).toEqual([]);
    },
    240_000,
  );
});
