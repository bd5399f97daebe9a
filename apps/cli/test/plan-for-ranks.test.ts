import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";
import { remat } from "./run.js";

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const recorded = path("../../../packages/sharding/test/fixtures/plain-tf.json.gz");
const model = path("../../../examples/transformer/model.js");
const folder = mkdtempSync(join(tmpdir(), "remat-ranks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const asked = ["plan", recorded, "--device", "h100", "--fsdp", "world=8,bf16"];

it("plans within what a rank may hold, as remat compare and remat memory show it, and writes that", async () => {
  const [code, plan] = [join(folder, "shard.py"), join(folder, "plan.json")];
  const planned = await remat(...asked, "--budget", "90%", "--time", "3s", "--fsdp-code", code, "-o", plan);
  expect({ code: planned.code, stderr: planned.stderr }).toEqual({ code: 0, stderr: "" });
  const [, typed] = /^planned: (.*)$/m.exec(planned.stdout)!;
  expect(typed).toMatch(/^world=8,bf16,/);
  const peaks: Record<string, number> = {};
  for (const given of ["world=8,bf16", typed, plan]) {
    const { stdout } = await remat("memory", recorded, "--device", "h100", "--fsdp", given, "--format", "json");
    peaks[given] = JSON.parse(stdout).peakBytes;
  }
  expect(peaks[typed]).toBeLessThanOrEqual(0.9 * peaks["world=8,bf16"]);
  expect(peaks[plan]).toBe(peaks[typed]);
  const again = await remat("memory", recorded, "--fsdp", plan, "--fsdp-code", join(folder, "again.py"));
  expect(again.code).toBe(0);
  expect(readFileSync(code, "utf8")).toBe(readFileSync(join(folder, "again.py"), "utf8"));
});

it("says what holds least where nothing keeps to the budget, and writes nothing", async () => {
  const file = join(folder, "none.py");
  const { code, stderr } = await remat(...asked, "--budget", "1KB", "--time", "1s", "--fsdp-code", file);
  expect(code).toBe(3);
  expect(stderr).toMatch(
    /none of \d+ strategies to wrap, reshard and checkpoint keeps a rank within 1000 B; the smallest peak found is \d+B/,
  );
  expect(() => readFileSync(file)).toThrow("ENOENT");
});

it.each([
  [[], "no budget was given. Pass --budget"],
  [["--budget", "1GB", "--checkpoint", "layers.*"], "--checkpoint cannot be combined with --fsdp"],
  [["--budget", "1GB", "--max-overhead", "5%"], "--max-overhead cannot be combined with --fsdp"],
  [["--budget", "1GB", "--executor", "tfjs"], "--executor cannot be combined with --fsdp"],
  [["--budget", "1GB", "--network", "node=fast"], 'unknown network setting "node=fast"'],
])("refuses %j", async (more, message) => {
  const { code, stderr } = await remat(...asked, ...more);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

it("refuses what is of the plan of --fsdp where there is none", async () => {
  const { code, stderr } = await remat("plan", recorded, "--budget", "80%", "--fsdp-code", join(folder, "x.py"));
  expect(code).toBe(2);
  expect(stderr).toContain("--fsdp-code needs a sharding plan");
});

it("writes no code of a plan that PyTorch refuses", async () => {
  const tied = path("../../../packages/sharding/test/fixtures/in-two-dtypes-gpt2.json.gz");
  const file = join(folder, "tied.py");
  const { code, stderr } = await remat("memory", tied, "--fsdp", "world=4,wrap=transformer.wte", "--fsdp-code", file);
  expect({ code, isThere: existsSync(file) }).toEqual({ code: 1, isThere: false });
  expect(stderr).toContain("share a parameter");
});

it.each([
  ["memory", ["--fsdp", "world=8"]],
  ["plan", ["--fsdp", "world=8", "--budget", "1GB"]],
])(
  "remat %s writes no calls of fully_shard for a model of TensorFlow.js, and says so before it searches",
  async (command, args) => {
    const path = join(folder, `${command}-tfjs.py`);
    const { code, stdout, stderr } = await remat(command, model, "--size", "tiny", ...args, "--fsdp-code", path);
    expect({ code: code > 0, stdout, isThere: existsSync(path) }).toEqual({ code: true, stdout: "", isThere: false });
    expect(stderr).toContain("is a TensorFlow.js model, and fully_shard is for PyTorch only");
  },
);
