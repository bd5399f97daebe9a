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
  });

  it("takes plans from files, and says which is best and why", async () => {
    const path = join(folder, "plan.json");
    writeFileSync(path, JSON.stringify({ schema: "sharding-plan/1", worldSize: 2, wrap: [] }));
    const { code, stdout } = await remat("compare", ...tiny, "--fsdp", path, "--fsdp", "world=16");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^best: .* \(least time of those that fit\): .* of communication, .* per step$/m);
    expect(stdout).toContain("plan.json");
  });

  it("takes what is checkpointed from a file that a plan names, and notes what was taken to be so, of which plans", async () => {
    const fixture = new URL("../../../packages/sharding/test/fixtures/in-two-dtypes-gpt2.json.gz", import.meta.url);
    const policy = join(folder, "policy.json");
    const saved = { save: [{ op: "aten.addmm.default", ordinal: 0 }] };
    writeFileSync(
      policy,
      JSON.stringify({
        format: "remat-pytorch-policy/4",
        modules: { "transformer.h.0": saved, "transformer.h.1": saved },
      }),
    );
    const said = "world=4,checkpoint=transformer.h.0+transformer.h.1(save=aten.addmm.default#0),bf16";
    const plans = [`world=4,checkpoint=${policy},bf16`, `world=4,bf16,checkpoint=${policy}`, said];
    const ignoring = "world=4,ignore=transformer.wpe,bf16";
    const run = [fileURLToPath(fixture), ...[...plans, ignoring].flatMap((plan) => ["--fsdp", plan])];
    const { code, stdout, stderr } = await remat("compare", ...run, "--format", "json");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const rows = JSON.parse(stdout).plans as { name: string; peakBytes: number; assumptions: string[] }[];
    const [inFile, last, inText, other] = rows.slice(1);
    expect([inFile.peakBytes, last.peakBytes]).toEqual([inText.peakBytes, inText.peakBytes]);
    expect(inText.assumptions).toEqual([]);
    expect(other.assumptions.join()).toContain("because ignore= is supported only there");
    const text = await remat("compare", ...run);
    expect(text.stdout).toContain(`note for ${ignoring}: The step was recorded in float32 and bfloat16`);
  });

  it("names the file of a policy or a plan that is of another model", async () => {
    const fixture = fileURLToPath(
      new URL("../../../packages/sharding/test/fixtures/in-two-dtypes-gpt2.json.gz", import.meta.url),
    );
    const [policy, plan] = [join(folder, "other-policy.json"), join(folder, "other-plan.json")];
    writeFileSync(policy, JSON.stringify({ format: "remat-pytorch-policy/4", modules: { "blocks.0": { save: [] } } }));
    writeFileSync(plan, JSON.stringify({ schema: "sharding-plan/1", worldSize: 2, wrap: ["blocks.*"] }));
    const asked = [
      ["compare", "--checkpoint", "transformer.h.0", "--checkpoint", policy],
      ["compare", "--fsdp", "world=2", "--fsdp", `world=2,checkpoint=${policy},bf16`],
      ["compare", "--fsdp", "world=2", "--fsdp", plan],
      ["memory", "--fsdp", plan],
      ["memory", "--fsdp", `world=2,checkpoint=${policy}`],
      ["plan", "--budget", "90%", "--fsdp", plan],
    ];
    for (const [command, ...options] of asked) {
      const { code, stderr } = await remat(command, fixture, ...options);
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^remat: (\S*=)?\S*other-(policy|plan)\.json\S*: sharding plan: no module is named "blocks\.[0*]"/,
      );
    }
  });

  it.each([
    [[], "no plan to compare. Pass one or more, such as --fsdp world=8"],
    [["--fsdp", "world=8,wrp=a"], 'unknown setting "wrp=a"'],
    [["--fsdp", "world=2,checkpoint=layers.*"], "checkpoint= in a sharding plan is supported for PyTorch runs only"],
    [["--fsdp", "world=8", "--network", "node=fast"], 'unknown network setting "node=fast"'],
    [["--fsdp", "nowhere.json"], 'nowhere.json": cannot be read'],
    [["--fsdp", "world=8,wrap=nobody"], 'no module is named "nobody"'],
  ])("refuses %j in a line", async (args, message) => {
    const { code, stderr } = await remat("compare", ...tiny, ...args);
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
  });
});
