import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { heldPeak } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { describe, expect, it } from "vitest";
import { parseShardingPlan, simulateFsdp } from "../../src/fsdp/index.js";

/**
 * Four residual blocks in float32, one that multiplies by `torch.cos(…).to(h.dtype)`, one that adds a mask made with `dtype=h.dtype`, which is no op where all is float32: and what
 * PyTorch 2.13 holds of each under FSDP2 over four ranks with parameters in bfloat16, by `MemTracker`.
 */
const measured: readonly (readonly [string, number])[] = [
  ["plain", 4_158_984],
  ["cos", 4_159_496],
  ["mask", 4_158_984],
];

describe("casts that the model's code makes, and a run in one dtype does not show", () => {
  it.each(measured)("%s holds in bfloat16 what PyTorch does", (name, peakBytes) => {
    const file = readFileSync(new URL(`../fixtures/bf16-${name}.json.gz`, import.meta.url));
    const trace = readPyTorchTrace(JSON.parse(gunzipSync(file).toString()));
    const { trace: rank } = simulateFsdp(trace, parseShardingPlan("world=4,bf16"));
    expect(Math.abs(heldPeak(rank).peakBytes - peakBytes)).toBeLessThanOrEqual(4096);
  });
});
