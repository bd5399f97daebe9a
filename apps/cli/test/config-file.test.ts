import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type CommandOption, nameOfEntry, optionName } from "../src/command.js";
import { commands } from "../src/commands/registry.js";
import { globalOptions } from "../src/global-options.js";
import { twoLayers } from "./fixtures/two-layers.js";
import { remat } from "./run.js";

const before = process.cwd();
const folder = mkdtempSync(join(tmpdir(), "remat-config-"));
beforeAll(() => {
  writeFileSync(join(folder, "model.json"), JSON.stringify(twoLayers("softmax")));
  mkdirSync(join(folder, "deep"));
});
const inFolder = (name: string) => {
  process.chdir(join(folder, name));
};
afterEach(() => {
  process.chdir(before);
  for (const name of readdirSync(folder))
    if (name !== "model.json" && name !== "deep") rmSync(join(folder, name), { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true }));

const all = await Promise.all(
  commands.map(async (entry) => ({
    name: nameOfEntry(entry),
    takesFile: entry.usage !== nameOfEntry(entry),
    options: (await entry.load()).options,
  })),
);
const accessOf = ({ access }: CommandOption, value = ""): string =>
  typeof access === "function" ? access(value) : access;

it("knows what each option can reach", () => {
  const reaching: Record<string, Set<string>> = {};
  for (const { name, options } of all)
    for (const option of [...options, ...globalOptions]) {
      const access = accessOf(option);
      (reaching[access] ??= new Set()).add(optionName(option));
      // An option that takes a file must not be declared as data, and an option that writes must be an output.
      if (/<(?:file|folder|path|url|report|other)>/.test(option.flags))
        expect(access, `${name} ${option.flags}`).not.toBe("data");
      if (option.writes !== undefined) expect(access, `${name} ${option.flags}`).toBe("output");
    }
  const names = (access: string) => [...reaching[access]].toSorted();
  expect(names("code")).toEqual(["data", "layers", "mode", "open", "tensorflow"]);
  expect(names("network")).toEqual(["engine", "serve", "yes"]);
  expect(names("output")).toEqual(
    "apply baseline cache dir force fsdp-code graphs html output parquet pytorch-policy sqlite store trace update".split(
      " ",
    ),
  );
  expect(names("file")).toEqual(["compare", "config", "extract", "plan", "snapshot", "weights"]);
  expect(names("name or file")).toEqual(["checkpoint", "device", "devices", "fsdp"]);
});

const reaching = all.flatMap(({ name, takesFile, options }) =>
  options
    .filter((option) => ["code", "output", "network"].includes(accessOf(option)))
    .map((option): [command: string, option: string, value: unknown, args: readonly string[]] => [
      name,
      optionName(option),
      option.flags.includes("<") ? "planted.mjs" : true,
      takesFile ? ["../model.json"] : [],
    ]),
);

describe("a config file that was found", () => {
  it.each(reaching)("does not let %s take %s", async (command, option, value, args) => {
    inFolder("deep");
    writeFileSync(
      join(folder, "deep", "planted.mjs"),
      `import { writeFileSync } from "node:fs"; writeFileSync("ran", "");`,
    );
    const path = join(folder, ".rematrc");
    for (const text of [{ [option]: value }, { [command]: { [option]: value } }]) {
      writeFileSync(path, JSON.stringify(text));
      const run = await remat(command, ...args);
      expect(run.stderr).toContain(`${path}: "${option}" `);
      expect(run.stderr).toContain(`--${option}`);
      expect(run.stderr).toContain(`--config ${path}`);
      expect(run.stderr.trimEnd().split("\n")).toHaveLength(1);
      expect(run).toMatchObject({ code: 2, stdout: "" });
    }
    expect(readdirSync(join(folder, "deep"))).toEqual(["planted.mjs"]);
    rmSync(join(folder, "deep", "planted.mjs"));
  });

  it("is the same as a field of package.json", async () => {
    inFolder("deep");
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "x", remat: { layers: "planted.mjs" } }));
    expect(await remat("memory", "../model.json")).toMatchObject({ code: 2, stdout: "" });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "x", remat: { batch: 3 } }));
    expect((await remat("memory", "../model.json")).stderr).toContain("package.json says --batch 3\n");
  });

  it("may not have the backend of the working folder tried", async () => {
    inFolder("");
    for (const device of ["here", "a100, here"]) {
      writeFileSync(".rematrc", JSON.stringify({ fit: { device } }));
      expect(await remat("fit", "model.json")).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringContaining('"device" can run code') as string,
      });
    }
  });

  it("says nothing about what was typed", async () => {
    inFolder("");
    writeFileSync(".rematrc", JSON.stringify({ trace: "theirs.remat.jsonl", batch: 2 }));
    const run = await remat("memory", "model.json", "--trace", "mine.remat.jsonl");
    expect(run).toMatchObject({ code: 0, stderr: expect.stringMatching(/says --batch 2\n$/) as string });
    expect(readdirSync(".")).toContain("mine.remat.jsonl");
    expect(readdirSync(".")).not.toContain("theirs.remat.jsonl");
  });

  it("names files from its own folder", async () => {
    writeFileSync(
      join(folder, "mine.json"),
      JSON.stringify({
        name: "mine",
        memoryBytes: 12345678,
        peakFlops: { float32: 1e12 },
        bandwidthBytesPerSecond: 1e11,
      }),
    );
    writeFileSync(join(folder, ".rematrc"), JSON.stringify({ device: "mine.json" }));
    inFolder("");
    const here = await remat("memory", "model.json");
    inFolder("deep");
    const deep = await remat("memory", "../model.json");
    expect(deep.stdout).toBe(here.stdout);
    expect(deep.stderr).toContain(`says --device ${join(folder, "mine.json")}`);
    writeFileSync(join(folder, ".rematrc"), JSON.stringify({ fsdp: "world=8", device: "h100" }));
    expect((await remat("memory", "../model.json")).stderr).toContain("says --fsdp world=8 --device h100\n");
  });

  it("is not waited for if it is a pipe", () => {
    inFolder("");
    expect(spawnSync("mkfifo", [".rematrc"]).status).toBe(0);
    return expect(remat("memory", "model.json")).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(".rematrc: it is a named pipe, not a regular file") as string,
    });
  });
});

describe("a config file that is named", () => {
  it("may have files written and code run, from its own folder", async () => {
    writeFileSync(
      join(folder, "layers.mjs"),
      `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(join(folder, "ran"))}, ""); export default () => [];`,
    );
    writeFileSync(join(folder, "mine.json"), JSON.stringify({ layers: "layers.mjs", trace: "out.remat.jsonl" }));
    inFolder("deep");
    expect(await remat("memory", "../model.json", "--config", "../mine.json")).toMatchObject({ code: 0 });
    expect(existsSync(join(folder, "ran"))).toBe(true);
    expect(existsSync(join(folder, "out.remat.jsonl"))).toBe(true);
  });

  it("has to be there", async () => {
    inFolder("");
    expect(await remat("memory", "model.json", "--config", "none.json")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("none.json: no such file") as string,
    });
  });
});
