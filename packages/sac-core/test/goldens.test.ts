import { type Golden, goldensOf, sampledCases } from "@remat/testkit";
import { describe, expect, test } from "vitest";
import { comparePwlfGolden } from "./compare-pwlf-golden.js";
import { compareSacGolden } from "./compare-sac-golden.js";

const sac = goldensOf("sac-oracle/1").map(({ file, golden }) => ({ name: file.name, golden }));
const pwlf = goldensOf("pwlf-oracle/1").map(({ file, golden }) => ({ name: file.name, golden }));

describe("goldens", () => {
  test("are there, of both kinds in the project's own copy", () => {
    expect(process.env["REMAT_GOLDENS"] !== undefined || (sac.length > 20 && pwlf.length > 1)).toBe(true);
  });

  test.each(sac)("$name: statistics, greedy order, trade-off and tables are PyTorch's", ({ golden }) => {
    expect(compareSacGolden(golden)).toBeUndefined();
  });

  test.each(pwlf)("$name: fits are at least as near to the points as pwlf's", ({ golden }) => {
    expect(comparePwlfGolden(golden)).toBeUndefined();
  });
});

type Path = readonly (string | number)[];

/** Paths of the numbers in `value`, except those that are not an answer: how deep to print. */
function numbersIn(value: unknown, path: Path = []): Path[] {
  if (typeof value === "number") return path.at(-1) === "depth" ? [] : [path];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => numbersIn(item, [...path, key]));
}

/** A copy of `golden` in which `change` has been made to what stands at `path`. */
function changed(golden: Golden, path: Path, change: (value: never) => unknown): Golden {
  const copy = structuredClone(golden);
  // biome-ignore lint/suspicious/noExplicitAny: a place in a golden file
  const holder = path.slice(0, -1).reduce<any>((at, key) => at[key], copy);
  holder[path[path.length - 1]] = change(holder[path[path.length - 1]] as never);
  return copy;
}

const more = (value: number): number =>
  Number.isSafeInteger(value) ? value + 1 : Math.abs(value) > 1 ? value * (1 - 1e-5) : value + 1e-5;

/** Paths of one in so many of `paths`, another one for each of `kinds` of them. */
function sampleByField(paths: readonly Path[], perField: number): readonly Path[] {
  const byField = new Map<string, Path[]>();
  for (const path of paths) {
    const field = path
      .filter((key) => !/^\d+$/.test(String(key)))
      .slice(-2)
      .join(".");
    byField.set(field, [...(byField.get(field) ?? []), path]);
  }
  return [...byField.values()].flatMap((found) =>
    Array.from(
      { length: Math.min(perField, found.length) },
      (_, i) => found[Math.floor((i * found.length) / perField)] ?? found[i],
    ),
  );
}

describe("a golden with one number changed does not agree", () => {
  test.each(sampledCases(sac, 4))("$name: an answer of the estimator", ({ golden }) => {
    const paths = numbersIn(golden["results"], ["results"]);
    for (const path of sampleByField(paths, 2)) {
      expect(compareSacGolden(changed(golden, path, more)), path.join(".")).toBeDefined();
    }
  });

  test.each(sampledCases(sac, 4))("$name: an answer noted in an event", ({ golden }) => {
    const fields = ["mem", "i", "ip", "v", "r", "start", "saved"];
    const paths = numbersIn(golden["events"], ["events"]).filter((path) => fields.includes(String(path[2])));
    for (const path of sampleByField(paths, 2))
      expect(compareSacGolden(changed(golden, path, more)), path.join(".")).toBeDefined();
  });

  test.each(sac)("$name: a digit of a printed table", ({ golden }) => {
    for (const format of ["plain", "tabular"]) {
      const text = golden["results"].text[format];
      const path = typeof text === "string" ? ["results", "text", format] : ["results", "text", format, "text"];
      if ((typeof text === "string" ? text : text.text) === "") continue;
      const nextDigit = (printed: string) =>
        printed.replace(/\d(?= B Total)/, (digit) => String((Number(digit) + 1) % 10));
      expect(compareSacGolden(changed(golden, path, nextDigit)), format).toBeDefined();
    }
  });

  test.each(sac)("$name: the size of a storage that an op makes", ({ golden }) => {
    const op = golden["events"].find(({ mem }: { mem?: number }) => (mem ?? 0) > 0);
    const tensor = Number(JSON.stringify(op.o).match(/%(\d+)/)?.[1]);
    const storage = [golden["tensors"][tensor].s].flat()[0];
    expect(
      compareSacGolden(changed(golden, ["storages", storage, "bytes"], (bytes: number) => bytes + 512)),
    ).toBeDefined();
  });

  test.each(pwlf)("$name", ({ golden }) => {
    const paths = numbersIn(golden["instances"], ["instances"]).filter(
      (path) => !path.includes("seed") && path.at(-1) !== "break",
    );
    for (const path of sampleByField(paths, 5)) {
      const change = path.at(-1) === "ssr" ? (value: number) => value * 0.99 - 1e-6 : (value: number) => value + 0.01;
      expect(comparePwlfGolden(changed(golden, path, change)), path.join(".")).toBeDefined();
    }
  });
});
