import { describe, expect, it } from "vitest";
import { historyLine, ratioOf } from "../src/against.js";

const headline = { name: "estimate", unit: "ms" } as const;
const pairs = (...ratios: readonly number[]) => ratios.map((ratio) => ({ before: 100, now: 100 * ratio }));

describe("a headline beside that of another revision", () => {
  it("is worse if its median ratio is above 1.05 and three rounds of four are above 1", () => {
    expect(ratioOf(headline, pairs(1.2, 1.1, 1.1, 1.06, 1.07, 1.1, 1.3))).toMatchObject({
      ratio: 1.1,
      spread: [1.1, 1.2],
      isWorse: true,
    });
  });

  it.each([
    ["a slowdown within the limit", [1.04, 1.05, 1.03, 1.05, 1.04]],
    ["one slow round", [1, 1, 1, 1, 9]],
    ["rounds that disagree", [0.8, 0.9, 1.06, 1.3, 1.2]],
    ["a gain", [0.5, 0.6, 0.4]],
  ])("is not worse after %s", (_, ratios) => {
    expect(ratioOf(headline, pairs(...ratios)).isWorse).toBe(false);
  });
});

it("becomes a line of the history", () => {
  const line = historyLine({ release: "0.2.0", against: "v0.1.0" }, [ratioOf(headline, pairs(0.5, 0.51234, 0.6))]);
  expect(line).toMatch(/\n$/);
  expect(JSON.parse(line)).toMatchObject({
    release: "0.2.0",
    against: "v0.1.0",
    ratios: { estimate: 0.512 },
    figures: { estimate: "51.2 ms" },
  });
});
