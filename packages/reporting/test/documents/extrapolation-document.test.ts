import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { SizedRun } from "@remat/memory/extrapolation";
import { readPyTorchTrace } from "@remat/pytorch";
import { summarizeExtrapolation } from "@remat/reporting";
import { extrapolationDocument } from "@remat/reporting/documents";
import { outputFormats } from "@remat/reporting/formats";
import { expect, test } from "vitest";

const example = (name: string): SizedRun => {
  const file = new URL(`../../../../examples/llama-pytorch/${name}.json.gz`, import.meta.url);
  return { name, trace: readPyTorchTrace(JSON.parse(gunzipSync(readFileSync(file)).toString())) };
};
const runs = ["run-512", "run-1024", "run-2048"].map(example);

const lines = (summary: ReturnType<typeof summarizeExtrapolation>): readonly string[] => {
  const [part] = extrapolationDocument(summary, { device: "mine" }).parts();
  return part.kind === "text" ? part.lines : [];
};

test("the largest size that fits stands in the first line and among the rows, in the order of sizes", () => {
  const memoryBytes = 16 * 2 ** 30;
  const summary = summarizeExtrapolation(runs, { memoryBytes, at: [4096, 1024, 100_000] });
  const { longest, outcomes, extrapolation } = summary;
  expect(lines(summary)[0]).toMatch(new RegExp(`the largest size that fits 16 GiB \\(mine\\) is ${longest?.size},`));
  expect(outcomes.map(({ size }) => size)).toEqual([512, 1024, 2048, 4096, longest?.size, 100_000]);
  expect(outcomes.map(({ origin }) => origin)).toEqual([
    ...["recorded", "recorded", "recorded", "predicted", "longest", "predicted"],
  ]);
  expect(longest?.peakBytes).toBeLessThanOrEqual(memoryBytes);
  expect(extrapolation.peakAt((longest?.size ?? 0) + 1).peakBytes).toBeGreaterThan(memoryBytes);
  for (const { peakBytes, byGrowth, bytesByCategory } of outcomes) {
    expect(byGrowth.reduce((sum, bytes) => sum + bytes, 0)).toBe(peakBytes);
    expect(Object.values(bytesByCategory).reduce((sum, bytes) => sum + bytes, 0)).toBe(peakBytes);
  }
});

test("says if nothing fits, or if nothing has to", () => {
  expect(lines(summarizeExtrapolation(runs, { memoryBytes: 1000 }))[0]).toBe("Llama: no size fits 1000 B (mine)");
  expect(lines(summarizeExtrapolation(runs))[0]).toBe("Llama: peak memory at other sizes");
});

test("a run that is not fitted is told as a check", () => {
  const { extrapolation } = summarizeExtrapolation(runs);
  const fourth = { name: "fourth", trace: extrapolation.traceAt(3000) };
  expect(lines(summarizeExtrapolation([...runs, fourth]))).toContainEqual("checked with fourth at 3000: off by 0 B");
});

test("every format writes it", () => {
  const summary = summarizeExtrapolation(runs, { memoryBytes: 80 * 2 ** 30 });
  const document = extrapolationDocument(summary);
  for (const format of outputFormats) expect(format.write(document, {})).toContain(String(summary.longest?.size));
  expect([...document.records().rows]).toHaveLength(summary.outcomes.length);
  expect(JSON.parse(JSON.stringify(document.value()))).toMatchObject({ irregularStorages: 0, residualBytes: 0 });
});
