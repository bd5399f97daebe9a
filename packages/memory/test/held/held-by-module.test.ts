import { readPyTorchTrace } from "@remat/pytorch";
import { goldenFiles, readGolden } from "@remat/testkit";
import { describe, expect, it } from "vitest";
import { storageModules } from "../../src/held/module-bytes.js";
import { heldByModule, heldPeak, momentOfPeak } from "../../src/index.js";

describe("memory of each module at the peak", () => {
  const recorded = goldenFiles().filter(({ name }) => name.startsWith("mem_"));
  it.each(recorded)("is the sum over what is alive of it and of what is in it: $name", (file) => {
    const trace = readPyTorchTrace(readGolden(file));
    const peak = heldPeak(trace);
    const owner = storageModules(trace);
    const { largest, totalBytes } = momentOfPeak(trace, peak, { limit: Number.POSITIVE_INFINITY });
    const within = (name: string): number =>
      largest
        .filter(({ storage }) => {
          const fqn = trace.modules[owner[storage]]?.fqn;
          return fqn === name || fqn?.startsWith(`${name}.`);
        })
        .reduce((sum, { bytes }) => sum + bytes, 0);
    const held = heldByModule(trace, peak);
    expect(held.size).toBeGreaterThan(0);
    for (const [name, bytes] of held) {
      expect(bytes).toBe(within(name));
      expect(bytes).toBeLessThanOrEqual(totalBytes);
    }
  });
});
