import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { checkLikeLines } from "../src/leaks/check-like-lines.js";
import { likeLines } from "../src/leaks/like-lines.js";
import { runLikeLines } from "../src/leaks/run-like-lines.js";
import { startBackend } from "../src/start-backend.js";

beforeAll(async () => startBackend("cpu"));

/** `LIKE_LINES=1000` for as many. */
const count = Number(process.env["LIKE_LINES"] ?? 60);

test("among lines that make the same tensors, none without a leak is named, however few stacks are taken", async () => {
  const sums = { named: 0, unclear: 0, missed: 0 };
  /** For programs whose stacks are nearly all taken. */
  const whole = { named: 0, unclear: 0, missed: 0 };
  const wrong: string[] = [];
  for (const program of fc.sample(likeLines, { numRuns: count, seed: Number(process.env["LIKE_SEED"] ?? 1) })) {
    const found = await checkLikeLines(program);
    if (found.wrong !== undefined) wrong.push(`${JSON.stringify(program)}\n${found.wrong}`);
    for (const what of ["named", "unclear", "missed"] as const) {
      sums[what] += found[what];
      if (program.stacks.free === 4000) whole[what] += found[what];
    }
  }
  console.log({ wrong: wrong.length, ...sums, whole });
  expect(wrong.join("\n\n")).toBe("");
  // Measured: 3.3 (seeds 1 and 11) and 3.9 (seed 7). For all programs 0.67 with 60 of them, at least 0.97 with 1000;
  // 14% to 18% are missed.
  expect(whole.named).toBeGreaterThan(3 * (whole.unclear + whole.missed));
  expect(sums.named).toBeGreaterThan(0.6 * (sums.unclear + sums.missed));
  expect(sums.missed).toBeLessThan(0.2 * (sums.named + sums.unclear + sums.missed));
}, 900_000);

test.each([1, 2, 3, 4, 5, 6, 7, 8])("a second line that leaks the same tensors is mentioned: seed %i", async (seed) => {
  const common = { every: 1, start: 0, bound: 0.1, isInHelper: false };
  const found = await checkLikeLines({
    making: "tf.scalar(i)",
    ends: "mark",
    runs: 300,
    isAsync: false,
    isOneLine: false,
    places: [
      { ...common, habit: "held", perRun: 20 },
      { ...common, habit: "newest", perRun: 5 },
      { ...common, habit: "held", perRun: 4 },
    ],
    stacks: { share: 0.04, free: 400, seed },
    tickMs: 0.02,
    runMs: 1,
    hasCensus: true,
  });
  expect(found).toMatchObject({ wrong: undefined, missed: 0 });
  expect(found.named).toBeGreaterThan(0);
});

test("programs in processes of their own have no wrong line either", async () => {
  for (const program of fc.sample(likeLines, { numRuns: 2, seed: 5 }))
    expect((await runLikeLines(program)).wrong).toBeUndefined();
}, 300_000);
