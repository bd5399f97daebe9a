import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { describe, expect, it } from "vitest";
import { summarizeSac } from "../src/index.js";

/** A GAN, which writes ReLUs in place: recorded by tooling/pytorch-exporter. */
const fixture = new URL("../../pytorch/test/fixtures/gan-step.json.gz", import.meta.url);
const trace = priceTrace(
  readPyTorchTrace(JSON.parse(gunzipSync(readFileSync(fixture)).toString())),
  deviceSpec("a100"),
);

const savedBytes = (fqn: string, asPytorch: boolean) =>
  summarizeSac(trace, { module: fqn, asPytorch }).modules.map((module) => module.savedBytes);

describe("tensors of a module saved by autograd", () => {
  it("counts once where ops write in place, and for each op as PyTorch has it", () => {
    // For 4 samples: a transposed convolution of 16 x 4 x 4, and batch normalisation, whose result the ReLU overwrites.
    const [hidden, statistics] = [4 * 4 * 16 * 4 * 4, 4 * 16];
    expect(savedBytes("ModuleDict.g", false)).toEqual([hidden + hidden + 2 * statistics]);
    expect(savedBytes("ModuleDict.g", true)).toEqual([3 * hidden + 2 * statistics]);
  });
});
