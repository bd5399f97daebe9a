import fc from "fast-check";
import { expect, test } from "vitest";
import type { Campaign, Finding } from "../src/campaign.js";
import { explore, runsPerSeed } from "../src/explore.js";

function campaignOf(
  tries: number,
  seed = 5,
  leastTries = 1,
): Campaign & { readonly findings: Finding[]; readonly tried: string[] } {
  const findings: Finding[] = [];
  const tried: string[] = [];
  return {
    backend: "cpu",
    seed,
    ms: Number.POSITIVE_INFINITY,
    leastTries,
    findings,
    tried,
    get isOver() {
      return tried.length >= tries;
    },
    trying: (what) => {
      if (what !== "") tried.push(what);
    },
    found: (finding) => findings.push(finding),
  };
}

const exploration = {
  arbitrary: fc.array(fc.nat(100)),
  check: async (numbers: number[]) => (numbers.some((n) => n > 50) ? `${Math.max(...numbers)} is large` : undefined),
  testOf: (numbers: number[]) => JSON.stringify(numbers),
};

test("a finding is shrunk, and reproduced from its seed immediately", async () => {
  const campaign = campaignOf(500);
  await explore(campaign, exploration);
  expect(campaign.findings).toHaveLength(3);
  for (const { what, test, seed } of campaign.findings) {
    expect([what, test]).toEqual(["51 is large", "[51]"]);
    const again = campaignOf(1000, seed);
    await explore(again, exploration);
    expect(again.findings[0]).toEqual({ what, test, seed });
  }
});

test("without findings it tries until the campaign is over, with different values from each seed", async () => {
  const campaign = campaignOf(200);
  await explore(campaign, { ...exploration, check: async () => undefined });
  expect(campaign.findings).toEqual([]);
  expect(campaign.tried).toHaveLength(200);
  expect(new Set(campaign.tried).size).toBeGreaterThan(150);
});

test("all values of a seed are tried, though the time is over before the first", async () => {
  const campaign = campaignOf(0, 5, runsPerSeed);
  await explore(campaign, { ...exploration, check: async () => undefined });
  expect(campaign.tried).toHaveLength(runsPerSeed);
});

test("no try is left behind when the time for a seed or for shrinking is over: two at once would disturb each other", async () => {
  const campaign = campaignOf(60);
  let [running, most] = [0, 0];
  const check = async (numbers: number[]) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 2));
    running--;
    return exploration.check(numbers);
  };
  await explore(campaign, { ...exploration, check }, 5);
  expect(most).toBe(1);
  expect(running).toBe(0);
  expect(campaign.findings).toHaveLength(3);
});
