import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { checkLikeLines } from "../src/leaks/check-like-lines.js";
import { likeLines } from "../src/leaks/like-lines.js";
import { startBackend } from "../src/start-backend.js";

beforeAll(async () => startBackend("cpu"));

/** `LIKE_LINES=1000` for as many. */
const count = Number(process.env["LIKE_LINES"] ?? 60);

test("of lines that make the same tensors none is named that does not leak, however few stacks are taken", async () => {
  const sums = { named: 0, unclear: 0, missed: 0 };
  for (const program of fc.sample(likeLines, { numRuns: count, seed: Number(process.env["LIKE_SEED"] ?? 1) })) {
    const found = await checkLikeLines(program);
    expect(found.wrong, `${JSON.stringify(program)}`).toBeUndefined();
    for (const what of ["named", "unclear", "missed"] as const) sums[what] += found[what];
  }
  if (count > 60) console.log(sums);
  // Half of the programs have stacks of next to none of their tensors.
  expect(sums.named).toBeGreaterThan(sums.unclear + sums.missed);
}, 900_000);
