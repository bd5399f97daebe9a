import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { remat } from "./run.js";

const root = new URL("../../../", import.meta.url);
const docs = fileURLToPath(new URL("docs/", root));
/** The README and the pages behind it. */
const pages = [
  fileURLToPath(new URL("README.md", root)),
  ...readdirSync(docs, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `${docs}${name}`),
];
/** `<!-- example: ARGS -->` and the block below it, which holds what to type, and what `remat ARGS` prints. */
const example = /<!-- example: (.+) -->\n\n```text\n\$ remat (.+)\n\n([\s\S]*?)```/g;

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

/** How good a plan is proven to be depends on how far a machine gets in the time for it. */
const withoutBound = (text: string) => text.replace(/; (no plan takes less than .*|proven optimal.*)$/m, "");

// The output is as wide as the typed path, which holds in the folder of the clone.
const before = process.cwd();
beforeAll(() => process.chdir(fileURLToPath(root)));
afterAll(() => process.chdir(before));

describe("the README and the pages behind it", () => {
  const texts = pages.map((page) => readFileSync(page, "utf8"));
  const examples = pages.flatMap((page, i) =>
    Array.from(texts[i].matchAll(example), ([, args, typed, output]) => ({ page, args, typed, output })),
  );

  it("have examples", () => {
    expect(examples.length).toBeGreaterThan(3);
    expect(examples).toHaveLength(texts.join("").split("<!-- example:").length - 1);
  });

  it("give figures first that the benchmarks have", () => {
    const [, table] = /\n(\| model \|[^]*?)\n\n/.exec(texts[0]) ?? [];
    const figures = table?.match(/\+?[\d.]+(?: [kMG]i?B| m?s\b|%)/g) ?? [];
    expect(figures.length).toBeGreaterThan(8);
    const benchmarks = readFileSync(`${docs}evidence/benchmarks.md`, "utf8").replaceAll(/ (?=%)/g, "");
    expect(figures.filter((figure) => !benchmarks.includes(figure))).toEqual([]);
  });

  it("link to what is there", () => {
    const broken = pages.flatMap((page, i) =>
      Array.from(texts[i].matchAll(/\]\((?!https?:)([^)#]+)/g), ([, link]) => `${dirname(page)}/${link}`).filter(
        (target) => !existsSync(target),
      ),
    );
    expect(broken).toEqual([]);
  });

  it.each(examples)("are typed as `$typed`", ({ args, typed }) => {
    expect(typedArgs(typed)).toEqual(args.split(" "));
  });

  it.each(examples)("show what `remat $args` prints", async ({ page, args, output }) => {
    const { code, stdout } = await remat(...args.split(" "));
    expect(code).toBe(0);
    if (process.env["UPDATE_README"] !== undefined) {
      const text = readFileSync(page, "utf8");
      const at = text.indexOf("```text\n", text.indexOf(`<!-- example: ${args} -->`));
      const from = text.indexOf("\n\n", at) + 2;
      writeFileSync(page, text.slice(0, from) + stdout + text.slice(from + output.length));
    } else expect(withoutBound(output)).toBe(withoutBound(stdout));
  });
});
