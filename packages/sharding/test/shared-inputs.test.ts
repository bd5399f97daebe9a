import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { heldPeak } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { describe, expect, it } from "vitest";
import { parseShardingPlan, simulateFsdp } from "../src/index.js";

/**
 * Two blocks of an encoder, and three of a decoder that each receive the encoder's output. On one device the backward
 * pass of a decoder block ends when the block has its whole gradient. The memory under FSDP2 of PyTorch 2.13 is
 * measured with `MemTracker`, whose own hooks do not keep gradients alive (`register_multi_grad_hook` does, until it
 * has all of them).
 */
const file = readFileSync(new URL("./fixtures/shared-inputs.json.gz", import.meta.url));
const trace = readPyTorchTrace(JSON.parse(gunzipSync(file).toString()));

describe("blocks that are given the same", () => {
  it.each([
    ["world=4,wrap='encoder.*',wrap='decoder.*'", 6_256_640],
    ["world=8,wrap='decoder.*',wrap=inp,root(no-reshard)", 6_517_760],
    ["world=2,wrap='encoder.*',wrap='decoder.*',bf16", 6_578_688],
    ["world=4,wrap='encoder.*',wrap=decoder.0+decoder.1,wrap=decoder.2,micro-batches=2", 7_909_376],
    ["world=4,wrap='encoder.*',wrap='decoder.*',checkpoint='decoder.*'", 6_026_240],
    ["world=4,wrap=inp,wrap='decoder.*',root(reshard)", 7_464_960],
    [
      "world=4,wrap=encoder.0,wrap=encoder.1,wrap=decoder.0,wrap=decoder.1,wrap=decoder.2(bf16,output=float32)",
      6_256_640,
    ],
    ["world=4,wrap='encoder.*'(bf16,output=float32),wrap='decoder.*'", 6_010_880],
  ])("hold under %s what PyTorch does", (text, peakBytes) => {
    const { trace: rank } = simulateFsdp(trace, parseShardingPlan(text));
    expect(Math.abs(heldPeak(rank).peakBytes - peakBytes)).toBeLessThanOrEqual(1024);
  });
});
