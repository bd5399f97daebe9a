import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { remat } from "./run.js";

const example = (path: string): string => fileURLToPath(new URL(`../../../examples/${path}`, import.meta.url));
const model = example("transformer/model.js");
const recorded = example("llama-pytorch/run-512.json.gz");
const folder = mkdtempSync(join(tmpdir(), "remat-check-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const baseline = join(folder, "main.json");
/** From the folder of the baseline. */
const nameOf = (path: string): string => relative(folder, path);
const asked = [model, "--size", "tiny", "--batch", "2", "--baseline", baseline];

/** The baseline with another peak, of which `more` bytes less were activations of a module. */
function rewriteBaseline(
  change: (step: {
    peakBytes: number;
    bytesByCategory: Record<string, number>;
    bytesByModule: Record<string, number>;
  }) => void,
): void {
  const file = JSON.parse(readFileSync(baseline, "utf8"));
  change(file.models[nameOf(model)]);
  writeFileSync(baseline, JSON.stringify(file));
}

/** A baseline of which one step has other fields. */
const tampered = (fields: object): string =>
  JSON.stringify({
    schema: "memory-baseline/1",
    models: { a: { step: "{}", peakBytes: 1, bytesByCategory: {}, bytesByModule: {}, ...fields } },
  });

describe("remat check", () => {
  it("passes where nothing grew, and fails with what did", async () => {
    expect(await remat("check", ...asked, "--update")).toEqual({ code: 0, stdout: "", stderr: "" });
    const { stdout } = await remat("memory", model, "--size", "tiny", "--batch", "2", "--format", "json");
    const { peakBytes } = JSON.parse(stdout) as { peakBytes: number };
    const same = await remat("check", ...asked, "--format", "json");
    expect(same.code).toBe(0);
    expect(JSON.parse(same.stdout)).toMatchObject({
      passes: true,
      steps: [{ beforeBytes: peakBytes, afterBytes: peakBytes, categories: [], modules: [] }],
    });

    const module = Object.keys(JSON.parse(readFileSync(baseline, "utf8")).models[nameOf(model)].bytesByModule).at(-1)!;
    const more = Math.round(0.05 * peakBytes);
    rewriteBaseline((step) => {
      step.peakBytes -= more;
      step.bytesByCategory["activation"] -= more;
      step.bytesByModule[module] -= 1;
    });
    const grown = await remat("check", ...asked, "--max-peak", "+2%");
    expect(grown.code).toBe(1);
    expect(grown.stdout).toContain("1 of 1 steps exceeds its limit");
    expect(grown.stdout).toMatch(/by category[\s\S]*Activations/);
    expect(grown.stdout).toContain(module);
    for (const enough of ["+6%", `+${more}B`, `${peakBytes}B`])
      expect((await remat("check", ...asked, "--max-peak", enough)).code).toBe(0);
    for (const tooLittle of [`+${more - 1}B`, `${peakBytes - 1}B`])
      expect((await remat("check", ...asked, "--max-peak", tooLittle)).code).toBe(1);
  });

  it("fails where the baseline knows a step as another one, or does not know it", async () => {
    await remat("check", ...asked, "--update");
    const other = await remat("check", ...asked, "--optimizer", "adam");
    expect(other.code).toBe(1);
    expect(other.stdout).toContain('optimizer "adam", was "sgd"');
    const unknown = await remat("check", recorded, "--baseline", baseline);
    expect(unknown.code).toBe(1);
    expect(unknown.stdout).toContain("not in the baseline");
  });

  const network = (name: string, units: number): string => `
export default ({ tf }) => tf.sequential({ name: "${name}", layers: [tf.layers.dense({ units: ${units}, inputShape: [4] })] });
`;

  it("knows a model by where it is from the baseline, however it is typed and wherever both are", async () => {
    const here = process.cwd();
    const [first, second, third] = ["first", "second", "third"].map((name) => join(folder, name));
    for (const at of [first, second, third]) {
      mkdirSync(join(at, "sub"), { recursive: true });
      writeFileSync(join(at, "net.mjs"), network(at === third ? "quite-another" : "net", 3));
      writeFileSync(join(at, "sub/net.mjs"), network("net", 300));
    }
    const check = async (at: string, ...args: string[]) => {
      process.chdir(at);
      try {
        return await remat("check", ...args);
      } finally {
        process.chdir(here);
      }
    };
    expect((await check(first, "./net.mjs", "--baseline", "memory.json", "--update")).code).toBe(0);
    const text = readFileSync(join(first, "memory.json"), "utf8");
    expect(Object.keys(JSON.parse(text).models)).toEqual(["net.mjs"]);
    for (const typed of ["net.mjs", "./net.mjs", "sub/../net.mjs", join(first, "net.mjs")])
      expect((await check(first, typed, "--baseline", "memory.json")).code).toBe(0);
    expect((await check(join(first, "sub"), "../net.mjs", "--baseline", "../memory.json")).code).toBe(0);
    // Another file of that name is not compared.
    const other = await check(join(first, "sub"), "net.mjs", "--baseline", "../memory.json");
    expect(other).toMatchObject({ code: 1, stdout: expect.stringMatching(/sub\/net\.mjs.*not in the baseline/) });
    // A checkout elsewhere.
    writeFileSync(join(second, "memory.json"), text);
    expect((await check(second, "net.mjs", "--baseline", "memory.json")).code).toBe(0);
    writeFileSync(join(third, "memory.json"), text);
    const renamed = await check(third, "net.mjs", "--baseline", "memory.json", "--max-peak", "1GB");
    expect(renamed).toMatchObject({ code: 1, stdout: expect.stringContaining('model "quite-another", was "net"') });
  });

  it("keeps what else the baseline knows, and writes the same where nothing changed", async () => {
    await remat("check", recorded, "--baseline", baseline, "--update");
    const first = readFileSync(baseline, "utf8");
    expect(Object.keys(JSON.parse(first).models)).toEqual([recorded, model].map(nameOf).sort());
    await remat("check", ...asked, "--update");
    expect(readFileSync(baseline, "utf8")).toBe(first);
  });

  it.each([
    [[model], "no baseline to compare with"],
    [[model, "--baseline", join(folder, "none.json")], "cannot be read"],
    [[model, "--baseline", baseline, "--max-peak", "some"], "expects a growth, such as +2% or +100MB, or"],
    [[model, "--baseline", baseline, "--max-peak", "50%"], "For a growth of 50%, type +50%."],
    [[model, "--baseline", baseline, "--max-peak", "2"], "For a growth of 2%, type +2%."],
    [[model, "--baseline", baseline, "--max-peak", "+2"], "For a growth of 2%, type +2%."],
    [[model, "--baseline", baseline, "--max-peak", "-2%"], "expects a growth, such as"],
    [[model, "--baseline", baseline, "--max-peak", "+"], "expects a growth, such as"],
  ])("refuses %j", async (args, message) => {
    const { code, stderr } = await remat("check", ...args);
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(message);
  });

  it.each([
    ["{", "not JSON"],
    ["{}", '"schema": "memory-baseline/1"'],
    ['{"schema":"memory-baseline/1"}', 'expected an object "models"'],
    [
      '{"schema":"memory-baseline/1","models":{"a":{"peakBytes":-1}}}',
      '"a".step: expected the settings of a step, as JSON, found nothing',
    ],
    [tampered({ step: "not JSON" }), '"a".step: expected the settings of a step, as JSON, found "not JSON"'],
    [tampered({ step: "[]" }), '"a".step: expected the settings'],
    [tampered({ step: '"x"' }), '"a".step: expected the settings'],
    [tampered({ peakBytes: "5" }), '"a".peakBytes: expected a number of bytes, found "5"'],
    [tampered({ peakBytes: 1e300 }), '"a".peakBytes: expected a number of bytes'],
    [tampered({ peakBytes: 0.5 }), '"a".peakBytes: expected a number of bytes, found 0.5'],
    [tampered({ bytesByCategory: [] }), '"a".bytesByCategory: expected numbers of bytes by name, found []'],
    [tampered({ bytesByModule: { x: null } }), '"a".bytesByModule["x"]: expected a number of bytes, found null'],
    [tampered({ bytesByModule: { x: -1 } }), '"a".bytesByModule["x"]: expected a number of bytes, found -1'],
    [tampered({}).replace("}}}", "}}"), "not JSON (at line 1, column "],
  ])("refuses the baseline %s", async (text, message) => {
    const path = join(folder, "damaged.json");
    writeFileSync(path, text);
    const { code, stderr } = await remat("check", model, "--baseline", path);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });
});
