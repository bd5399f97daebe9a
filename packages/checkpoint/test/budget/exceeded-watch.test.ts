import { expect, it, vi } from "vitest";
import { BudgetLimit } from "../../src/budget/budget-limit.js";
import { ExceededWatch } from "../../src/budget/exceeded-watch.js";

const inPass = "the gradients of a pass";

function watchWithin(limit: BudgetLimit) {
  const meter = { knownPeakBytes: 0 };
  const reject = vi.fn();
  const watch = new ExceededWatch(limit, meter, reject);
  return { meter, reject, watch };
}

it("rejects each op that exceeds the budget by more than those before", () => {
  const { meter, reject, watch } = watchWithin(new BudgetLimit({ bytes: 100 }));
  for (const [op, peakBytes] of [
    ["fits", 100],
    ["exceeds", 120],
    ["exceeds as much", 120],
    ["exceeds more", 150],
  ] as const) {
    meter.knownPeakBytes = peakBytes;
    watch.check(inPass, () => op);
  }
  expect(reject.mock.calls.map(([{ op, neededBytes }]) => [op, neededBytes])).toEqual([
    ["exceeds", 120],
    ["exceeds more", 150],
  ]);
  expect(watch.exceeded).toEqual({ op: "exceeds more", peakBytes: 150, budgetBytes: 100 });
  watch.passStarting();
  expect(watch.exceeded).toBeUndefined();
});

it("allows what the pass needs to fail at its end, and no more", () => {
  const limit = new BudgetLimit({ bytes: 100 });
  const { meter, reject, watch } = watchWithin(limit);
  limit.overrunBytes = 150;
  meter.knownPeakBytes = 150;
  expect(watch.isOver).toBe(false);
  meter.knownPeakBytes = 151;
  expect(watch.isOver).toBe(true);
  watch.check(inPass, () => "exceeds");
  expect(reject).toHaveBeenCalledTimes(1);
});

it("only records an op over a budget that is lifted until a pass has measured the baseline", () => {
  const limit = new BudgetLimit({ fraction: 0.5 });
  const { meter, reject, watch } = watchWithin(limit);
  meter.knownPeakBytes = 80;
  expect(watch.isOver).toBe(false);
  limit.share?.raise(100);
  limit.followShare();
  watch.check(inPass, () => "exceeds");
  expect(reject).not.toHaveBeenCalled();
  expect(watch.exceeded).toEqual({ op: "exceeds", peakBytes: 80, budgetBytes: 50 });
});
