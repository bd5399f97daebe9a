import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nameOfEntry, optionName } from "../src/command.js";
import { commands } from "../src/commands/registry.js";
import { remat } from "./run.js";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "remat-given-")));
const before = process.cwd();
const content = "what was here before";
beforeAll(() => {
  process.chdir(folder);
  mkdirSync("sub");
  mkdirSync("model");
  for (const file of ["given.json", "other.js", join("model", "index.js")]) writeFileSync(file, content);
  symlinkSync("given.json", "link.json");
  symlinkSync(folder, join("sub", "up"));
  symlinkSync("/dev/zero", join("sub", "zero.json"));
});
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

/** Every command that writes files, by the options that name these; and those that name what it reads. */
const writers = await Promise.all(
  commands.map(async (entry) => {
    const { options, takesProgram } = await entry.load();
    const named = (wanted: "reads" | "writes") =>
      options.filter((option) => option[wanted]).map((option) => `--${optionName(option)}`);
    const takesFile = entry.usage !== nameOfEntry(entry);
    return { name: nameOfEntry(entry), takesProgram, takesFile, reads: named("reads"), writes: named("writes") };
  }),
).then((all) => all.filter(({ writes }) => writes.length > 0));

it("is known of every option whose value is a file", async () => {
  expect(writers.map(({ name, writes }) => [name, writes])).toEqual([
    ["estimate", ["--trace"]],
    ["memory", ["--trace", "--fsdp-code"]],
    ["plan", ["--fsdp-code", "--output", "--pytorch-policy", "--trace"]],
    ["fit", ["--html", "--sqlite", "--parquet", "--apply"]],
    ["compare", ["--trace"]],
    ["report", ["--output"]],
    ["calibrate", ["--output"]],
    ["record", ["--output"]],
  ]);
  const told = await Promise.all(commands.map(async (entry) => (await entry.load()).options));
  const files = told.flat().filter(({ flags }) => /<(file|report)>/.test(flags));
  expect(files.filter(({ reads, writes }) => reads === undefined && writes === undefined)).toEqual([]);
});

function target({ takesProgram, takesFile }: (typeof writers)[number], file: string): readonly string[] {
  if (!takesFile) return [];
  return takesProgram ? ["--", "node", file] : [file];
}

async function isRefused(args: readonly string[], ...named: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await remat(...args);
  expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" });
  for (const name of named) expect(stderr).toContain(name);
  expect(stderr).toMatch(/^remat: .* would overwrite what .*\. Name another file with -.*\n$/);
  expect(readFileSync("given.json", "utf8")).toBe(content);
}

describe.each(writers.filter(({ takesFile }) => takesFile))("remat $name", (writer) => {
  const { name, writes, reads } = writer;
  const spellings = ["given.json", "./sub/../given.json", "link.json", join(folder, "sub", "up", "given.json")];

  it("writes nothing over what it is given, however that is spelled", async () => {
    for (const output of writes)
      for (const spelled of spellings) {
        await isRefused([name, output, spelled, ...target(writer, "given.json")], spelled, "given.json");
        await isRefused([name, output, "given.json", ...target(writer, spelled)], "given.json");
      }
  });

  it("writes nothing over what another option reads", async () => {
    for (const output of writes)
      for (const input of reads)
        await isRefused([name, input, "given.json", output, "link.json", ...target(writer, "other.js")], input);
  });
});

it.each(writers.filter(({ writes }) => writes.length > 1))(
  "remat $name writes no two outputs to one file, whether it is there or not",
  async ({ name, writes }) => {
    for (const one of writes)
      for (const other of writes.filter((each) => each !== one)) {
        await isRefused([name, one, "given.json", other, "link.json", "other.js"]);
        await isRefused([name, one, "new.json", other, "sub/up/new.json", "other.js"]);
        expect(existsSync("new.json")).toBe(false);
      }
  },
);

it.each(writers)("remat $name rejects an output that is a named pipe, before it waits for a reader", async (writer) => {
  execFileSync("mkfifo", ["pipe"]);
  symlinkSync("pipe", "to-pipe");
  try {
    for (const option of writer.writes)
      for (const path of ["pipe", "to-pipe", join(folder, "sub", "up", "pipe")]) {
        const { code, stdout, stderr } = await remat(writer.name, option, path, ...target(writer, "other.js"));
        expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
        expect(stderr).toContain(
          `${path}: it is a named pipe, not a regular file, and writing to it could block. Name a file, or redirect standard output with`,
        );
      }
  } finally {
    for (const each of ["pipe", "to-pipe"]) rmSync(each);
  }
});

it("rejects a named pipe that an option names by default", async () => {
  execFileSync("mkfifo", ["report.html"]);
  expect((await remat("report", "other.js")).stderr).toContain("-o report.html: it is a named pipe");
  rmSync("report.html");
});

describe("files that are read", () => {
  it("is the model in a folder, too", () =>
    isRefused(["memory", "model", "--trace", "model/index.js"], "model/index.js"));

  it("is the file from which options come, and that to which an output goes by default", async () => {
    writeFileSync(".rematrc", "{}");
    await isRefused(["memory", "other.js", "--trace", ".rematrc"], "--config");
    rmSync(".rematrc");
    symlinkSync("given.json", "report.html");
    await isRefused(["report", "given.json"], "report.html");
    rmSync("report.html");
    symlinkSync("given.json", "other.remat.jsonl");
    await isRefused(["record", "--", "node", "other.js", "--log=given.json"], "other.remat.jsonl");
  });

  it("is a program whose ending Node adds", () =>
    isRefused(["record", "-o", "other.js", "--", "node", "other"], "the program"));
});

it.each([
  [
    ["memory", "other.js", "--data", "/dev/zero"],
    "--data /dev/zero: it is a device, not a regular file. Name a regular file.",
  ],
  [
    ["run", "other.js", "--plan", "sub/zero.json"],
    "--plan sub/zero.json: it is a device, not a regular file. Name a regular file.",
  ],
  [["memory", "other.js", "--unit", "9e15"], '--unit expects a whole number of 1 to 1073741824; found "9e15".'],
  [["memory", ""], /^remat: the model's name is empty\. Expected model\.js /],
  [
    ["memory", "other.js", "--trace", "t.remat.jsonl.br"],
    "--trace t.remat.jsonl.br: compression as .br is not supported here. Name a file without .br, or with .gz.",
  ],
  [
    ["plan", "other.js", "-o", "plan.json.gz"],
    "-o plan.json.gz: compression as .gz is not supported here. Name a file without .gz.",
  ],
  [
    ["record", "-o", "t.zst", "--", "node", "other.js"],
    "-o t.zst: compression as .zst is not supported here. Name a file without .zst, or with .gz.",
  ],
  [
    ["report", "other.js", "-o", "report.html.gz"],
    "-o report.html.gz: browsers cannot open a compressed report. Name a file without .gz.",
  ],
])("what cannot be meant is refused: %j", async (args, message) => {
  const { code, stdout, stderr } = await remat(...args);
  expect([code, stdout]).toEqual([2, ""]);
  if (typeof message === "string") expect(stderr).toBe(`remat: ${message} See remat ${args[0]} --help.\n`);
  else expect(stderr).toMatch(message);
});

it.each([
  ["/dev/zero", "/dev/zero: a device or a socket. Name a regular file."],
  ["loop.json", "loop.json: cannot be read (ELOOP: too many symbolic links"],
  ["sub/damaged.json", "sub/damaged.json: not JSON ("],
  ["sub/run.jsonl.br", "sub/run.jsonl.br: compression as .br is not supported. Decompress the file, or use gzip."],
])("what cannot be read says why: %s", async (path, message) => {
  symlinkSync("loop.json", "loop.json");
  writeFileSync(join("sub", "damaged.json"), '{ "nodes": [{ "bytes": 1');
  writeFileSync(join("sub", "run.jsonl.br"), "x");
  const { code, stderr } = await remat("plan", path, "--budget", "80%");
  rmSync("loop.json");
  expect(code).toBe(1);
  expect(stderr.replace(`${folder}/`, "")).toContain(`remat: ${message}`);
});
