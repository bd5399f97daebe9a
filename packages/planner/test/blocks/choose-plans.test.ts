import { checkedShare } from "@remat/testkit/checked-share";
import fc from "fast-check";
import { expect, test } from "vitest";
import { choosePlans, type SegmentChoice } from "../../src/blocks/choose-plans.js";
import type { SegmentPlan } from "../../src/blocks/segment-plans.js";

const plans = fc.record({
  sequence: fc.constant(new Int32Array()),
  cost: fc.nat(9),
  restBytes: fc.nat(9),
  forwardBytes: fc.nat(12),
  backwardBytes: fc.nat(12),
});
const segments = fc.array(
  fc.record({
    plans: fc.array(plans, { minLength: 1, maxLength: 4 }),
    besideForward: fc.nat(9),
    besideBackward: fc.nat(9),
  }),
  { minLength: 1, maxLength: 4 },
);

/** Every choice there is. */
function* allChoices(choices: readonly SegmentChoice[]): Generator<SegmentPlan[]> {
  if (choices.length === 0) return yield [];
  const [first, ...rest] = choices;
  for (const plan of first.plans) for (const others of allChoices(rest)) yield [plan, ...others];
}

function isWithin(choices: readonly SegmentChoice[], chosen: readonly SegmentPlan[], rest: number, budget: number) {
  let saved = 0;
  for (const [s, plan] of chosen.entries()) {
    const { besideForward, besideBackward, plans: all } = choices[s];
    if (besideForward + plan.forwardBytes - saved > budget) return false;
    if (besideBackward + plan.backwardBytes - saved > budget) return false;
    saved += all[0].restBytes - plan.restBytes;
  }
  return rest - saved <= budget;
}

const costOf = (chosen: readonly SegmentPlan[]) => chosen.reduce((sum, { cost }) => sum + cost, 0);

test("costs what the cheapest of all choices costs", () => {
  const given = checkedShare();
  fc.assert(
    fc.property(segments, fc.nat(30), fc.integer({ min: 8, max: 36 }), (choices, rest, budget) => {
      const chosen = choosePlans(choices, rest, budget).map((p, s) => choices[s].plans[p]);
      const within = [...allChoices(choices)].filter((each) => isWithin(choices, each, rest, budget));
      expect(chosen).toHaveLength(choices.length);
      if (!given(within.length > 0)) return;
      expect(isWithin(choices, chosen, rest, budget)).toBe(true);
      expect(costOf(chosen)).toBe(Math.min(...within.map(costOf)));
    }),
    { numRuns: 2000 },
  );
});

test("very many choices include some within the budget, close to the cheapest", () => {
  // Each of 100 segments saves 1 for 1, 3 for 2 or 7 for 8: 300 bytes cost 200.
  const plan = (saved: number, cost: number): SegmentPlan => ({
    sequence: new Int32Array(),
    cost,
    restBytes: 10 - saved,
    forwardBytes: 0,
    backwardBytes: 0,
  });
  const choices = Array.from({ length: 100 }, () => ({
    plans: [plan(0, 0), plan(1, 1), plan(3, 2), plan(7, 8)],
    besideForward: 0,
    besideBackward: 0,
  }));
  const chosen = choosePlans(choices, 1000, 700).map((p, s) => choices[s].plans[p]);
  expect(chosen.reduce((sum, { restBytes }) => sum + restBytes, 0)).toBeLessThanOrEqual(700);
  expect(costOf(chosen)).toBe(200);
});
