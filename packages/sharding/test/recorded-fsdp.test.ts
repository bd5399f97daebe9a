import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { fsdpTrackerLabels, MemTracker } from "@remat/memory/tracker";
import { readPyTorchTrace } from "@remat/pytorch";
import { type Trace, TraceBuilder } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { FSDPMemTracker, hasFsdpHooks } from "../src/index.js";
import { fsdpStateLabels } from "../src/state-labels.js";
import { blocksModel } from "./blocks-model.js";

/**
 * A step of three blocks and a head under `fully_shard` on rank 0 of 4 (PyTorch 2.13 on CPU, fake process group, Adam), as the exporter records it, and what
 * PyTorch's `FSDPMemTracker` shows for the same step: bytes by `module|state|call|device` and category.
 */
interface Fixture {
  readonly recorded: object;
  readonly upstream: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const file = readFileSync(new URL("./fixtures/recorded-fsdp.json.gz", import.meta.url));
const { recorded, upstream } = JSON.parse(gunzipSync(file).toString()) as Fixture;

const { labels, always } = fsdpTrackerLabels;
/** Without gathered gradients, of which PyTorch's hook keeps one alive. */
const categories = always.filter((name) => name !== "unshardedGradient");

describe("a recorded step of a sharded model", () => {
  const trace = readPyTorchTrace(recorded);
  const tracker = new FSDPMemTracker().update(trace);

  it("has every state of every unit that PyTorch's tracker has, with the same bytes by category", () => {
    const found: Record<string, Record<string, number>> = {};
    const totals: Record<string, number> = {};
    for (const { fqn, snapshots } of tracker.modules())
      for (const [state, calls] of snapshots)
        for (const [call, devices] of calls.entries())
          for (const { device, bytesByCategory, totalBytes } of devices) {
            const key = `${fqn}|${fsdpStateLabels[state]}|${call + 1}|${device}`;
            found[key] = Object.fromEntries(categories.map((name) => [labels[name], bytesByCategory[name]]));
            totals[key] = totalBytes;
          }
    expect(Object.keys(found).sort()).toEqual(Object.keys(upstream).sort());
    for (const [key, theirs] of Object.entries(upstream)) {
      const expected = categories.map((name) => [labels[name], theirs[labels[name]] ?? 0]);
      expect({ key, ...found[key] }).toEqual({ key, ...Object.fromEntries(expected) });
      // A local variable of PyTorch's hook keeps the last gathered gradient alive until the hook returns. Remat also
      // counts a scalar of 4 bytes that existed before the step.
      const kept = key.includes("After Post-Backward") ? (theirs["Unsharded Grad"] ?? 0) : 0;
      expect({ key, bytes: totals[key] }).toEqual({ key, bytes: theirs["Total"] - kept + 4 });
    }
  });

  it("is told from a run that is not sharded", () => {
    expect(hasFsdpHooks(trace)).toBe(true);
    expect(hasFsdpHooks(blocksModel({}))).toBe(false);
  });
});

describe("a run that is not sharded", () => {
  const forwardOnly = (): Trace => {
    const b = new TraceBuilder({ framework: "pytorch", device: "cpu", mode: "real", allocationUnitBytes: 1 });
    const call = b.call(b.module({ fqn: "net", kind: "Net", leaf: true }), -1, true);
    b.enterModule(call);
    b.exitModule(call);
    return b.build();
  };

  it("is an error for the tracker of sharded ones, as PyTorch's refuses such a module", () => {
    const error = expect.objectContaining({
      code: "TRACE_NOT_SHARDED",
      message: expect.stringContaining("Use MemTracker"),
    });
    expect(() => new FSDPMemTracker().update(blocksModel({}))).toThrow(error);
    expect(() => new FSDPMemTracker().update(forwardOnly()).modules()).toThrow(error);
    expect(() => new FSDPMemTracker().update(forwardOnly()).displayModulewiseSnapshots()).toThrow(error);
    expect(new MemTracker().update(forwardOnly()).modules()).toHaveLength(1);
  });
});
