import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { remat } from "./run.js";

const run = (name: string): string =>
  fileURLToPath(new URL(`../../../examples/llama-pytorch/run-${name}.json.gz`, import.meta.url));
const runs = ["512", "1024", "2048"].map(run);

describe("remat extrapolate RUNS", () => {
  it("tells the largest size that fits a device or a budget", async () => {
    const ask = async (...args: string[]) =>
      JSON.parse((await remat("extrapolate", ...runs, ...args, "--format", "json")).stdout);
    const [small, large] = [await ask("--budget", "16GiB"), await ask("--device", "a100")];
    expect(small.longest).toBeLessThan(large.longest);
    expect([small.memoryBytes, large.memoryBytes]).toEqual([16 * 2 ** 30, 80 * 2 ** 30]);
    expect(await ask("--sizes", "512,1024,2048", "--budget", "16GiB")).toMatchObject({ longest: small.longest });
  });

  it("tells of the sizes that are asked for, as csv", async () => {
    const { stdout } = await remat("extrapolate", ...runs, "--at", "4096", "--budget", "1GiB", "--format", "csv");
    const sizes = stdout
      .trimEnd()
      .split("\r\n")
      .slice(1)
      .map((row) => Number(row.split(",")[0]));
    expect(sizes.filter((size) => [512, 1024, 2048, 4096].includes(size))).toEqual([512, 1024, 2048, 4096]);
  });

  it.each([
    ["one run", [runs[0]], "extrapolation needs runs at two or more sizes, found 1"],
    ["the same run twice", [runs[0], runs[0]], "all tensors have the same shapes"],
    ["two lengths of a square", runs.slice(0, 2), "Record the step at a third size."],
    ["another program", [runs[0], run("checkpointed")], "are not the same step at different sizes: op "],
    ["a model", ["examples/lstm/model.js"], "is not a recorded run"],
    ["a share", [...runs, "--budget", "70%"], "--budget expects a size, such as 20GiB"],
    ["sizes that are none", [...runs, "--at", "long"], "--at expects a whole number"],
    ["too few sizes", [...runs, "--sizes", "1,2"], "expected one size for each of the 3 runs, found 2"],
  ])("refuses %s, saying why", async (_, args, message) => {
    const before = process.cwd();
    process.chdir(fileURLToPath(new URL("../../../", import.meta.url)));
    try {
      const { code, stderr, stdout } = await remat("extrapolate", ...args);
      expect({ code, stdout }).toEqual({ code: expect.any(Number), stdout: "" });
      expect(code).not.toBe(0);
      expect(stderr).toContain(message);
    } finally {
      process.chdir(before);
    }
  });
});
