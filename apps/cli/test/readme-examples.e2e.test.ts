import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { examples, root } from "./pages.js";
import { remat } from "./run.js";

/** How good a plan is proven to be depends on how far a machine gets in the time for it. */
const withoutBound = (text: string) =>
  text.replace(/; (no plan within the budget takes less than .*|proven optimal.*)$/m, "");

// The output is as wide as the typed path, which starts in the folder of the clone.
const before = process.cwd();
beforeAll(() => process.chdir(root));
afterAll(() => process.chdir(before));

describe("examples of pages", () => {
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
