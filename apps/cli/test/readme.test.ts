import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { remat } from "./run.js";

const root = new URL("../../../", import.meta.url);
const readme = fileURLToPath(new URL("README.md", root));
/** `<!-- example: ARGS -->` and the block below it, which holds what `remat ARGS` prints. */
const example = /<!-- example: (.+) -->\n\n```text\n\$ remat .+\n\n([\s\S]*?)```/g;

/** How good a plan is proven to be depends on how far a machine gets in the time for it. */
const withoutBound = (text: string) => text.replace(/; (no plan takes less than .*|proven optimal.*)$/m, "");

describe("the README", () => {
  const text = readFileSync(readme, "utf8");
  const examples = Array.from(text.matchAll(example), ([, args, output]) => ({ args, output }));

  it("has examples", () => {
    expect(examples.length).toBeGreaterThan(1);
    expect(examples).toHaveLength(text.split("<!-- example:").length - 1);
  });

  it.each(examples)("shows what `remat $args` prints", async ({ args, output }) => {
    const words = args
      .split(" ")
      .map((word) => (word.startsWith("examples/") ? fileURLToPath(new URL(word, root)) : word));
    const { code, stdout } = await remat(...words);
    expect(code).toBe(0);
    if (process.env["UPDATE_README"] !== undefined)
      writeFileSync(
        readme,
        readFileSync(readme, "utf8").replace(output, () => stdout),
      );
    else expect(withoutBound(output)).toBe(withoutBound(stdout));
  });
});
