import { goldensOf } from "@remat/testkit";
import { describe, expect, test } from "vitest";
import { comparePwlfGolden } from "./compare-pwlf-golden.js";
import { compareSacGolden } from "./compare-sac-golden.js";

const sac = goldensOf("sac-oracle/1").map(({ file, golden }) => ({ name: file.name, golden }));
const pwlf = goldensOf("pwlf-oracle/1").map(({ file, golden }) => ({ name: file.name, golden }));

test("the project's own copy has goldens of both kinds", () => {
  expect(process.env["REMAT_GOLDENS"] !== undefined || (sac.length > 20 && pwlf.length === 1)).toBe(true);
});

describe("statistics, greedy order, trade-off and tables are PyTorch's", () => {
  test.each(sac)("$name", ({ golden }) => expect(compareSacGolden(golden)).toBeUndefined());
});

describe("fits are at least as near to the points as pwlf's", () => {
  test.each(pwlf)("$name", ({ golden }) => expect(comparePwlfGolden(golden)).toBeUndefined());
});
