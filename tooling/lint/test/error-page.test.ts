import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { errorReference } from "../../../packages/trace/src/error-reference.js";
import { errorPage, writeErrorPage } from "../error-page.js";
import { root } from "./lint-fixtures.js";

const entries = Object.values(errorReference).flatMap((section) => Object.entries(section));

describe("the reference of errors", () => {
  test("is current: else run `pnpm errors`", () => {
    expect(readFileSync(join(root, errorPage), "utf8")).toBe(writeErrorPage(errorReference));
  });

  test("explains each code once, in short sentences", () => {
    const codes = entries.map(([code]) => code);
    expect(codes.filter((code, i) => codes.indexOf(code) !== i)).toEqual([]);
    for (const [code, { meaning, cure }] of entries)
      for (const text of [meaning, cure]) {
        expect(text, code).toMatch(/\.$/);
        expect(text.length, code).toBeLessThanOrEqual(280);
      }
  });

  test("has no code that no source uses", () => {
    const sources = execFileSync(
      "git",
      ["grep", "-hoE", '"[A-Z][A-Z_]+"', "--", "packages/*/src/**", "apps/*/src/**"],
      {
        cwd: root,
        encoding: "utf8",
        maxBuffer: 1 << 26,
      },
    );
    const used = new Set(sources.split("\n").map((line) => line.slice(1, -1)));
    expect(entries.map(([code]) => code).filter((code) => !used.has(code))).toEqual([]);
  });
});
