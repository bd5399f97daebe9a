import { parseBudget } from "@remat/memory";
import { formatBudget, formatBytes } from "@remat/trace/text";
import fc from "fast-check";
import { expect, it } from "vitest";

/** Evenly distributed over magnitudes. */
const sizes = fc.double({ min: 0, max: 44, noNaN: true }).map((exponent) => Math.floor(2 ** exponent));

it("a size as shown is a sufficient budget for that size, and for no size shown differently", () => {
  fc.assert(
    fc.property(sizes, (bytes) => {
      const budget = parseBudget(formatBudget(bytes)) as { readonly bytes: number };
      expect(budget.bytes).toBeGreaterThanOrEqual(bytes);
      // Excludes sizes that round to the next unit.
      if (!formatBytes(bytes).startsWith("1024.0 ")) expect(formatBytes(budget.bytes)).toBe(formatBytes(bytes));
    }),
    { numRuns: 2000 },
  );
});
