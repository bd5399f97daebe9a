import { expect, it } from "vitest";
import { showProgress } from "../src/plan/show-progress.js";
import { Progress } from "../src/progress.js";

/** Text on a terminal, or in a pipe, while a plan is searched whose ops cost `plainCost` in total. */
function shown(state: Parameters<ReturnType<typeof showProgress>>[0], plainCost?: number, isTTY = true): string {
  let text = "";
  const stderr = { isTTY, columns: 120, write: (more: string) => (text += more) };
  const progress = new Progress({ stderr, env: {} } as unknown as ConstructorParameters<typeof Progress>[0]);
  showProgress(progress, "net", plainCost)(state);
  return text.replace(/^\r\u001b\[2K/, "").replace(/\d\.\d s/, "N s");
}

it("planning shows the time, the tries and the best so far, and nothing in a pipe", () => {
  const state = { cost: undefined, smallestPeakBytes: 1536, iterations: 7 } as Parameters<typeof shown>[0];
  const end = "iterations; Ctrl-C keeps the best";
  expect(shown(state)).toBe(`planning net: N s, lowest peak so far 1.5 KiB, 7 ${end}`);
  expect(shown({ ...state, cost: 110 }, 100)).toBe(`planning net: N s, best so far +10.0%, 7 ${end}`);
  expect(shown({ ...state, cost: 110 })).toBe(`planning net: N s, best so far costs 110, 7 ${end}`);
  expect(shown(state, 100, false)).toBe("");
});
