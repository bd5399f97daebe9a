import { execFileSync, spawn } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { goldenFiles } from "@remat/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { nameOfEntry, optionName } from "../src/command.js";
import { commands } from "../src/commands/registry.js";
import { globalOptions } from "../src/global-options.js";
import { twoLayers } from "./fixtures/two-layers.js";
import { remat, rematIn } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-command-line-"));
const before = process.cwd();
const model = join(folder, "two-layers.json");
beforeAll(() => {
  process.chdir(folder);
  writeFileSync(model, JSON.stringify(twoLayers("softmax")));
});
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

describe("typing errors", () => {
  it.each([
    ["estimat", "unknown command 'estimat'; did you mean estimate? See remat --help."],
    ["help plam", "unknown command 'plam'; did you mean plan? See remat --help."],
    ["plan --bugdet 1", "unknown option '--bugdet'; did you mean --budget? See remat plan --help."],
    ["memory --top --units MiB x", "--top expects a value; found the option --units. See remat memory --help."],
    ["memory a b", "too many arguments for 'memory'. Expected 1 argument but got 2. See remat memory --help."],
    [
      "completion tcsh",
      'completion for "tcsh" is not supported. Choose one of bash, zsh, fish. See remat completion --help.',
    ],
    [
      "version --color sometimes",
      '--color expects one of auto, always, never; found "sometimes". See remat version --help.',
    ],
    ["version --width 7", '--width expects a whole number of at least 40; found "7". See remat version --help.'],
    ["plan --width -1 --help", '--width expects a whole number of at least 40; found "-1". See remat plan --help.'],
  ])("remat %s", async (args, message) => {
    expect(await remat(...args.split(" "))).toEqual({ code: 2, stdout: "", stderr: `remat: ${message}\n` });
  });
});

it("shows help, and nothing else, where there are options but no command", async () => {
  const { code, stdout, stderr } = await remat("--width", "50");
  expect([code, stdout + stderr]).toEqual([2, expect.stringMatching(/^See where training memory goes/)]);
  expect(stdout + stderr).not.toContain("outputHelp");
});

describe("help", () => {
  it.each(commands.map(({ usage }) => usage.split(" ")[0]))(
    "of %s says first what it is for, lists fifteen options at most, or all, and ends with examples",
    async (name) => {
      const entry = commands.find(({ usage }) => usage.split(" ")[0] === name)!;
      const { options, examples } = await entry.load();
      const { code, stdout, stderr } = await rematIn({ width: 100 }, "help", name);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(await rematIn({ width: 100 }, name, "--help")).toEqual({ code, stdout, stderr });
      const whole = await rematIn({ width: 100 }, name, "--help", "--all");
      expect(await rematIn({ width: 100 }, "help", name, "--all")).toEqual(whole);
      const listed = (help: string) =>
        Array.from(help.matchAll(/^ {2}(?:-\w, )?--([\w-]+)(?: |$)/gm), ([, found]) => found);
      const ofEvery = ["version", "help"];
      expect(listed(whole.stdout).toSorted()).toEqual(
        [...[...options, ...globalOptions].map(optionName), ...ofEvery].toSorted(),
      );
      expect(listed(stdout).toSorted()).toEqual(
        [
          ...[...options, ...globalOptions].filter(({ group }) => group !== "rare").map(optionName),
          ...ofEvery,
        ].toSorted(),
      );
      expect(listed(stdout).length).toBeLessThanOrEqual(15);
      for (const help of [stdout, whole.stdout]) {
        expect(help.startsWith(`${entry.purpose}.\n\nUsage: remat ${name} `)).toBe(true);
        const end = `\nExamples:\n${examples.map((example) => `  ${example}`).join("\n")}`;
        if (examples.length > 0) expect(help.trimEnd().endsWith(end)).toBe(true);
      }
      expect(examples).toHaveLength(options.length === 0 && !entry.usage.includes(" ") ? 0 : 3);
    },
  );

  it("shows every option only where help is asked for", async () => {
    expect(await remat("plan", model, "--all")).toEqual({
      code: 2,
      stdout: "",
      stderr: "remat: --all is for help: see remat plan --help --all.\n",
    });
  });

  it("is no wider than the terminal, but for examples to be copied", async () => {
    for (const width of [60, 80]) {
      const { stdout } = await rematIn({ width }, "plan", "--help");
      const options = stdout.slice(0, stdout.indexOf("Examples:"));
      expect(Math.max(...options.split("\n").map((line) => line.length))).toBeLessThanOrEqual(width);
    }
  });

  it("is what remat prints by itself, and the version what it is asked for", async () => {
    const { stdout } = await remat("--help");
    expect(await remat()).toEqual({ code: 2, stdout, stderr: "" });
    expect(await remat("help")).toEqual({ code: 0, stdout, stderr: "" });
    expect(await remat("version")).toEqual(await remat("--version"));
    expect((await remat("version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("a config file", () => {
  afterEach(() => {
    vi.restoreAllMocks();
    for (const name of [".rematrc", "deep"]) rmSync(name, { recursive: true, force: true });
  });
  const peakOf = ({ stdout }: { readonly stdout: string }) => (JSON.parse(stdout) as { peakBytes: number }).peakBytes;
  const memory = (...args: string[]) => remat("memory", model, "--format", "json", ...args);

  it("stands for options that were not typed, above the folder too, a command's own before all", async () => {
    const [batch2, batch3, batch4] = [
      await memory("--batch", "2"),
      await memory("--batch", "3"),
      await memory("--batch", "4"),
    ];
    writeFileSync(".rematrc", JSON.stringify({ batch: 2, device: "h100", plan: { budget: "50%" } }));
    expect(peakOf(await memory())).toBe(peakOf(batch2));
    mkdirSync("deep");
    process.chdir("deep");
    try {
      const found = await memory();
      expect(peakOf(found)).toBe(peakOf(batch2));
      expect(found.stderr).toBe(`remat: ${join(process.cwd(), "..", ".rematrc")} says --batch 2 --device h100\n`);
    } finally {
      process.chdir("..");
    }
    expect(peakOf(await memory("--batch", "4"))).toBe(peakOf(batch4));
    writeFileSync(".rematrc", JSON.stringify({ batch: 2, memory: { batch: "3" } }));
    expect(peakOf(await memory())).toBe(peakOf(batch3));
  });

  it("is the one that is named, or none", async () => {
    // One after the other: a process has one engine, and what a step holds with early release is asked of it.
    const [plain, batch2] = [await memory(), await memory("--batch", "2")];
    writeFileSync(".rematrc", "no JSON");
    writeFileSync("other.json", JSON.stringify({ batch: 2 }));
    expect(peakOf(await memory("--config", "other.json"))).toBe(peakOf(batch2));
    expect(await memory("--no-config")).toEqual(plain);
  });

  it("has the options of every command, too", async () => {
    writeFileSync(".rematrc", JSON.stringify({ color: "always", version: { width: 60 } }));
    expect((await memory()).stderr).toContain(".rematrc says --color always\n");
    expect((await remat("version")).stderr).toContain(".rematrc says --color always --width 60\n");
  });

  it("leaves defaults to a switch that is false", async () => {
    const plain = await memory();
    writeFileSync(".rematrc", JSON.stringify({ format: false, fsdp: false }));
    expect(await memory()).toEqual(plain);
  });

  it("that belongs to another user is ignored unless it is named", async () => {
    const plain = await memory();
    writeFileSync(".rematrc", JSON.stringify({ trace: "planted.remat.jsonl" }));
    // Only root can give a file away; to anybody else, root excepted, it is given by being another.
    const user = process.getuid!();
    const stranger = user === 0 ? 12345 : user;
    if (user === 0) chownSync(".rematrc", stranger, stranger);
    else vi.spyOn(process, "getuid").mockReturnValue(54321);
    const path = join(process.cwd(), ".rematrc");
    expect(await memory()).toEqual({
      ...plain,
      stderr: `remat: ${path} is ignored, because it belongs to another user (${stranger}). Use it with --config ${path}, or pass --no-config.\n`,
    });
    expect(readdirSync(".")).not.toContain("planted.remat.jsonl");
    expect((await memory("--config", ".rematrc")).stderr).toContain(
      `says --trace ${join(process.cwd(), "planted.remat.jsonl")}`,
    );
    rmSync("planted.remat.jsonl");
  });

  it.each([
    ["no JSON", 1, /^remat: .*\.rematrc: not JSON \(.*\)\. Write options by name, such as \{ "device": "h100" \}\.\n$/],
    ["[]", 1, /^remat: .*\.rematrc: not an object of options/],
    ['{ "batch": {} }', 1, /"batch" expects a text, a number, true or false; found \{\}/],
    [
      '{ "batch": "many" }',
      2,
      /--batch expects a whole number of at least 1; found "many"\. See remat memory --help\.\n$/,
    ],
    ['{ "width": -1 }', 2, /--width expects a whole number of at least 40; found "-1"/],
    ['{ "color": "purple" }', 2, /--color expects one of auto, always, never; found "purple"/],
    ['{ "batch": true }', 1, /"batch" expects a value; found true/],
    ['{ "memory": { "snapshots": "no" } }', 1, /"snapshots" expects true or false; found "no"/],
    ['{ "batch": [] }', 1, /"batch" expects a text, a number, true or false; found \[\]/],
    ['{ "memory": { "config": "other" } }', 2, /remat memory has no option "config"/],
    ['{ "config": "other" }', 2, /no command has an option "config"/],
    ['{ "__proto__": 2 }', 2, /no command has an option "__proto__"/],
    ['{ "memory": { "bach": 2 } }', 2, /remat memory has no option "bach"; did you mean "batch"\?/],
    ['{ "memory": 2 }', 1, /"memory" expects an object of options; found 2/],
    ['{ "bach": 2 }', 2, /no command has an option "bach"; did you mean "batch"\?/],
  ])("%s is refused in one line that names it", async (text, code, message) => {
    writeFileSync(".rematrc", text);
    const run = await memory();
    expect(run.stderr).toMatch(message);
    expect(run.stderr).toContain(".rematrc");
    expect(run.stderr.trimEnd().split("\n").at(-1)).toMatch(/^remat: /);
    expect(run).toMatchObject({ code, stdout: "" });
  });
});

describe("standard input", () => {
  const stdin = (text: string | Uint8Array) => ({ stdin: Readable.from([Buffer.from(text)]) });
  const json = ["--format", "json"];

  it("is a model, a trace, zipped or not, or a graph, as a file of the same bytes is", async () => {
    const plain = await remat("memory", model, ...json, "--trace", "two.remat.jsonl");
    await remat("memory", model, "--trace", "two.remat.jsonl.gz");
    const { peakBytes } = JSON.parse(plain.stdout) as { peakBytes: number };
    for (const file of [model, "two.remat.jsonl", "two.remat.jsonl.gz"]) {
      const { code, stdout } = await rematIn(stdin(readFileSync(file)), "memory", "-", ...json);
      expect({ code, peakBytes: (JSON.parse(stdout) as { peakBytes: number }).peakBytes }).toEqual({
        code: 0,
        peakBytes,
      });
    }
    const golden = readFileSync(goldenFiles().find(({ name }) => name === "mem_min_adam")!.path);
    expect((await rematIn(stdin(golden), "memory", "-")).code).toBe(0);
    const nodes = [{ name: "a", bytes: 1, cost: 1 }];
    const graph = JSON.stringify({ schema: "rematerialization-graph/1", name: "one", nodes, edges: [] });
    expect((await rematIn(stdin(graph), "plan", "-", "--budget", "100%", "--iterations", "1")).stdout).toContain(
      "one: 1 node",
    );
  });

  it("is any pipe that is named, as a shell's <(command) is", async () => {
    await remat("memory", model, "--trace", "piped.remat.jsonl.gz");
    execFileSync("mkfifo", ["pipe", "other-pipe"]);
    for (const pipe of ["pipe", "other-pipe"]) spawn("sh", ["-c", `cat piped.remat.jsonl.gz > ${pipe}`]);
    const read = await remat("memory", "pipe");
    expect(read).toMatchObject({ code: 0, stderr: "" });
    expect(read.stdout).toBe(
      (await remat("memory", "piped.remat.jsonl.gz")).stdout.replaceAll("piped.remat.jsonl.gz", "pipe"),
    );
    expect((await remat("estimate", "other-pipe")).code).toBe(0);
  });

  it("leaves nothing behind", async () => {
    const left = () => readdirSync(tmpdir()).filter((name) => name.startsWith("remat-stdin-"));
    const before = left();
    await rematIn(stdin("no model"), "memory", "-");
    expect(left()).toEqual(before);
  });

  it.each([
    [{}, ["-"], "- reads standard input, which is a terminal here."],
    [stdin(""), ["-"], "standard input is empty."],
    [stdin("{}"), ["-", "-"], "standard input can be read only once, and - was given twice."],
  ])("that cannot be read is refused", async (io, targets, message) => {
    const { code, stderr } = await rematIn(io, "ui", ...targets, "--once");
    expect(stderr).toContain(message);
    expect({ code, lines: stderr.trimEnd().split("\n").length }).toEqual({ code: 2, lines: 1 });
  });
});

describe("help and errors", () => {
  it.each(commands.map((entry) => [nameOfEntry(entry), entry] as const))(
    "help %s names no option that the command does not have",
    async (name, entry) => {
      const { options } = await entry.load();
      const known = new Set([...options, ...globalOptions].map(optionName));
      const { stdout } = await remat("help", name);
      // The list of models applies to all commands.
      const models = /Inputs:\n([\s\S]*?)(?=\n\n|$)/.exec(stdout)?.[1] ?? "";
      for (const [, option] of models.matchAll(/--([a-z][\w-]*)/g)) expect(known, `--${option}`).toContain(option);
    },
  );

  it("setup of something else names no option", async () => {
    const { code, stderr } = await remat("setup", "foo");
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'remat: cannot set up "foo". Run remat setup native. See remat setup --help.\n',
    });
  });
});
