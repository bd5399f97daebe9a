import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { docs, examples, pages } from "./pages.js";

/**
 * Arguments that a shell makes from a typed line. The examples have no other quotes, and nothing that a shell would
 * expand.
 */
function typedArgs(typed: string): readonly string[] {
  return Array.from(typed.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g), ([word]) => {
    const bare = word.replace(/'[^']*'|"[^"]*"/g, "");
    if (/[*?()[\]<>&;|$]/.test(bare)) throw new Error(`${word} is not quoted in ${typed}`);
    return word.replace(/'([^']*)'|"([^"]*)"/g, "$1$2");
  });
}

describe("the README and the pages in docs", () => {
  it("have examples", () => {
    expect(examples.length).toBeGreaterThan(3);
    expect(examples).toHaveLength(
      pages
        .map(({ text }) => text)
        .join("")
        .split("<!-- example:").length - 1,
    );
  });

  it("give figures first that the benchmarks have", () => {
    const [, table] = /\n(\| model \|[^]*?)\n\n/.exec(pages[0].text) ?? [];
    const figures = table?.match(/\+?[\d.]+(?: [kMG]i?B| m?s\b|%)/g) ?? [];
    expect(figures.length).toBeGreaterThan(8);
    const benchmarks = readFileSync(`${docs}evidence/benchmarks.md`, "utf8").replaceAll(/ (?=%)/g, "");
    expect(figures.filter((figure) => !benchmarks.includes(figure))).toEqual([]);
  });

  it("link to what is there", () => {
    const broken = pages.flatMap(({ path, text }) =>
      Array.from(text.matchAll(/\]\((?!https?:)([^)#]+)/g), ([, link]) => `${dirname(path)}/${link}`).filter(
        (target) => !existsSync(target),
      ),
    );
    expect(broken).toEqual([]);
  });

  it.each(examples)("are typed as `$typed`", ({ args, typed }) => {
    expect(typedArgs(typed)).toEqual(args.split(" "));
  });
});
