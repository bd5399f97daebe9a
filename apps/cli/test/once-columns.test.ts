import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { remat } from "./run.js";

const example = (path: string): string => fileURLToPath(new URL(`../../../examples/${path}`, import.meta.url));

describe.each([
  ["a model", [example("foo/model.js")]],
  ["a model that fits nowhere", [example("gpt-2/model.js"), "--size", "tiny", "--device", "l4", "--batch", "4000000"]],
  ["a recorded run", [example("llama-pytorch/run-512.json.gz")]],
  ["a comparison", [example("llama-pytorch/run-512.json.gz"), example("llama-pytorch/run-1024.json.gz")]],
])("ui --once of %s", (_name, args) => {
  it.each(["60", "80", "120"])("has no line wider than %s columns but what is to be typed", async (columns) => {
    const { code, stdout, stderr } = await remat("ui", ...args, "--once", "--columns", columns);
    expect(code, stderr).toBe(0);
    const lines = stdout.split("\n");
    expect(lines.length).toBeGreaterThan(8);
    expect(lines.filter((line) => [...line].length > Number(columns) && !/^ *remat /.test(line))).toEqual([]);
    // Commands to be copied are not cut.
    for (const line of lines) if (/^ *remat /.test(line)) expect(line).not.toContain("…");
  });
});
