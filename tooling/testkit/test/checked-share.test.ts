import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkedShare } from "../src/checked-share.js";

/** A property about numbers below 100 that checks those below a limit only. */
function checksBelow(limit: number, atLeast?: number): void {
  const given = checkedShare(atLeast);
  fc.assert(
    fc.property(fc.nat(99), (n) => {
      if (given(n < limit)) expect(n).toBeLessThan(limit);
    }),
    { numRuns: 1000 },
  );
}

// Vitest turns these round: they pass if the test in them fails.
describe("fails a property", () => {
  test.fails("that never checks", () => checksBelow(0));

  test.fails("that never checks, even if any share will do", () => checksBelow(0, 0));

  test.fails("that has no cases", () => void checkedShare());

  test.fails("that checks less than half", () => checksBelow(40));

  test.fails("that checks less than the share it states", () => checksBelow(80, 0.9));

  test.fails("that is asynchronous", async () => {
    const given = checkedShare();
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (n) => {
        await Promise.resolve();
        if (given(n < 0)) expect(n).toBeLessThan(0);
      }),
    );
  });
});

describe("passes a property", () => {
  test("that checks at least half", () => checksBelow(60));

  test("that checks the share it states", () => checksBelow(40, 0.3));
});

test.fails("says how many cases met the condition", () => {
  onTestFinished(({ task }) => {
    // Hooks run in reverse, so that this one sees the failure of the one below.
    expect(task.result?.errors?.map(({ message }) => message)).toEqual([
      "1 of 3 cases met the condition of this property, and at least 50% must. Change the generator so that more cases meet it.",
    ]);
  });
  const given = checkedShare();
  for (const condition of [true, false, undefined]) given(condition);
});

test("narrows what is given, and takes null and zero for given", () => {
  const given = checkedShare();
  const seen: unknown[] = [];
  for (const value of [1, undefined, 0, 2] as (number | undefined)[]) if (given(value)) seen.push(value.toFixed(0));
  expect(seen).toEqual(["1", "0", "2"]);
  expect(given<string | null>(null)).toBe(true);
});
