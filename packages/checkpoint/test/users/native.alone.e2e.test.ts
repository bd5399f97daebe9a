import { selectBackend } from "@remat/dispatch-hook/backends/node";
import { nativeApp, sampledCases } from "@remat/testkit";
import { beforeAll, describe, expect, test } from "vitest";
import { failing, programs } from "./programs.js";
import { budgeted, early, muchGoes, planned, stock } from "./ways.js";

const nativeFolder = nativeApp();

// Programs that fail leave scopes open in tfjs's engine, as they do without remat.
describe.runIf(nativeFolder !== undefined)("on tensorflow", () => {
  beforeAll(async () => {
    await selectBackend({ backend: "tensorflow", from: nativeFolder as string });
  });

  test.each(sampledCases(Object.keys(programs), 2, 1))("%s: as in stock, to the bit", async (name) => {
    const program = programs[name];
    await stock(program);
    const expected = await stock(program);
    const budgets = [true, false].map((online) => budgeted([0.5, 0.7, 0.9, 1], online));
    for (const runIn of [early, muchGoes, ...budgets, planned]) {
      const found = await runIn(program);
      expect(found.seen).toEqual(expected.seen);
      if (!failing.has(name)) expect(found.left).toEqual(expected.left);
      else expect(Object.values(found.left).every((count) => count === 0)).toBe(true);
    }
  });
});
