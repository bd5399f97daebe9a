import { parseBudget } from "@remat/memory";
import { formatBudget, formatBytes } from "@remat/trace/text";
import fc from "fast-check";
import { expect, it } from "vitest";

/** Of all magnitudes alike. */
const sizes = fc.double({ min: 0, max: 44, noNaN: true }).map((exponent) => Math.floor(2 ** exponent));

it("of any size, as it is shown, a budget that is enough for it, and for nothing that is shown otherwise", () => {
  fc.assert(
    fc.property(sizes, (bytes) => {
      const budget = parseBudget(formatBudget(bytes)) as { readonly bytes: number };
      expect(budget.bytes).toBeGreaterThanOrEqual(bytes);
      // What rounds to the next unit.
      if (!formatBytes(bytes).startsWith("1024.0 ")) expect(formatBytes(budget.bytes)).toBe(formatBytes(bytes));
    }),
    { numRuns: 2000 },
  );
});
