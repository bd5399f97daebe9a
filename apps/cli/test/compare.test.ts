import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { remat } from "./run.js";

const model = fileURLToPath(new URL("../../../examples/transformer/model.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-compare-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const tiny = [model, "--size", "tiny", "--optimizer", "adam"];

describe("remat compare", () => {
  it("shows each plan with the peak that remat memory shows of it", async () => {
    const plans = ["world=4", "world=8,replicas=2,no-reshard"];
    const compared = await remat("compare", ...tiny, ...plans.flatMap((plan) => ["--fsdp", plan]), "--format", "json");
    expect({ code: compared.code, stderr: compared.stderr }).toEqual({ code: 0, stderr: "" });
    const rows = JSON.parse(compared.stdout).plans as { name: string; peakBytes: number }[];
    expect(rows.map(({ name }) => name)).toEqual(["one device", ...plans]);
    for (const [i, plan] of [undefined, ...plans].entries()) {
      const asked = plan === undefined ? [] : ["--fsdp", plan];
      const { stdout } = await remat("memory", ...tiny, ...asked, "--format", "json");
      expect(JSON.parse(stdout).peakBytes).toBe(rows[i].peakBytes);
    }
  }, 120_000);

  it("takes plans from files, and says which is best and why", async () => {
    const path = join(folder, "plan.json");
    writeFileSync(path, JSON.stringify({ schema: "sharding-plan/1", worldSize: 2, wrap: [] }));
    const { code, stdout } = await remat("compare", ...tiny, "--fsdp", path, "--fsdp", "world=16");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^best: .* \(least time of those that fit\): .* received, .* a step$/m);
    expect(stdout).toContain("plan.json");
  }, 60_000);

  it.each([
    [[], "expected at least one plan: --fsdp world=8"],
    [["--fsdp", "world=8,wrp=a"], 'unknown item "wrp=a"'],
    [["--fsdp", "world=2,checkpoint=layers.*"], "checkpoint= in a sharding plan is simulated on runs of PyTorch"],
    [["--fsdp", "world=8", "--network", "node=fast"], 'unknown item "node=fast" of a network'],
    [["--fsdp", "nowhere.json"], 'nowhere.json": cannot be read'],
    [["--fsdp", "world=8,wrap=nobody"], 'no module is called "nobody"'],
  ])("refuses %j in a line", async (args, message) => {
    const { code, stderr } = await remat("compare", ...tiny, ...args);
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
  });
});
