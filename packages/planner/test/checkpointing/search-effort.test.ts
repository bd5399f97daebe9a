import { afterEach, expect, test, vi } from "vitest";
import { SharedEffort } from "../../src/checkpointing/search-effort.js";

afterEach(() => vi.restoreAllMocks());

/** Stands still but for what is added. */
function stopClock(): { ms: number } {
  const clock = { ms: 1000 };
  vi.spyOn(performance, "now").mockImplementation(() => clock.ms);
  return clock;
}

test("changes are shared out by weight, all of them", () => {
  const effort = new SharedEffort({ iterations: 1000 }, 5, 0, 0);
  expect(effort.take([1], 1)).toEqual([{ iterations: 200 }]);
  expect(effort.take([1, 3], 2)).toEqual([{ iterations: 200 }, { iterations: 600 }]);
  expect(effort.take([1], 1)).toEqual([{ iterations: 0 }]);
});

test("the time of a call is that from its beginning, and what a search leaves over goes to the next", () => {
  const clock = stopClock();
  const effort = new SharedEffort({ timeMs: 600 }, 4, 900, 100);
  // 100 ms are gone, 100 are kept for the end.
  expect(effort.take([1], 1)).toEqual([{ timeMs: 100 }]);
  clock.ms += 40;
  expect(effort.take([1], 1)).toEqual([{ timeMs: 120 }]);
  clock.ms += 300;
  expect(effort.take([1], 1)).toEqual([{ timeMs: 30 }]);
  clock.ms += 300;
  expect(effort.take([1], 1)).toEqual([{ timeMs: 0 }]);
});

test("searches that run at once share no time, but none takes longer than all may", () => {
  stopClock();
  expect(new SharedEffort({ timeMs: 400 }, 4, 1000, 0).take([1, 1, 1, 1], 1)).toEqual(Array(4).fill({ timeMs: 100 }));
  expect(new SharedEffort({ timeMs: 400 }, 4, 1000, 0).take([1, 1, 1, 1], 2)).toEqual(Array(4).fill({ timeMs: 200 }));
  expect(new SharedEffort({ timeMs: 400 }, 4, 1000, 0).take([3, 1], 2)).toEqual([{ timeMs: 400 }, { timeMs: 200 }]);
});

test("beside a number of changes, a time is a limit", () => {
  stopClock();
  const effort = new SharedEffort({ iterations: 100, timeMs: 50 }, 2, 1000, 0);
  expect(effort.take([1], 1)).toEqual([{ iterations: 50, timeMs: 25 }]);
});

test("without either it is 5 seconds", () => {
  stopClock();
  expect(new SharedEffort({}, 1, 1000, 0).take([1], 1)).toEqual([{ timeMs: 5000 }]);
});
