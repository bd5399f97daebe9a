import fc from "fast-check";
import type { FuzzerKind } from "../campaign.js";
import { explore } from "../explore.js";
import { titleOf } from "../test-text.js";
import { checkLikeLines } from "./check-like-lines.js";
import { likeLines } from "./like-lines.js";
import { runLikeLines } from "./run-like-lines.js";

/** Programs whose lines make similar tensors. No line without a leak may be named, however few stacks are taken. */
export const likeLinesKind: FuzzerKind = {
  title: "programs with lines that make the same tensors",
  backends: ["cpu"],
  share: 1,
  run: async (campaign) =>
    explore(campaign, {
      arbitrary: fc.record({
        program: likeLines,
        isInProcess: fc.oneof(
          { arbitrary: fc.constant(false), weight: 19 },
          { arbitrary: fc.constant(true), weight: 1 },
        ),
      }),
      check: async ({ program, isInProcess }) => (await (isInProcess ? runLikeLines : checkLikeLines)(program)).wrong,
      testOf: ({ program, isInProcess }, what) =>
        [
          `test(${titleOf(what)}, async () => {`,
          `  const { wrong } = await ${isInProcess ? "runLikeLines" : "checkLikeLines"}(${JSON.stringify(program)});`,
          "  expect(wrong).toBeUndefined();",
          "});",
        ].join("\n"),
    }),
};
