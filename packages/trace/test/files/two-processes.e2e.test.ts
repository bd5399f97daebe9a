import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = mkdtempSync(join(tmpdir(), "remat-output-"));
const module = join(root, "output-file.mjs");

beforeAll(async () => {
  await build({
    entryPoints: [resolve(import.meta.dirname, "../../src/files/index.ts")],
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: module,
  });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** User for a process without root's privileges. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** Runs `code` with `writeOutput` in a process of its own; resolves once it has printed `ready`. */
async function start(code: string, pid?: number): Promise<{ child: ChildProcess; ended: Promise<unknown[]> }> {
  const child = spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `${pid === undefined ? "" : `Object.defineProperty(process, "pid", { value: ${pid} });`}
       const { writeOutput } = await import(${JSON.stringify(module)}); ${code}`,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = once(child, "exit");
  await once(child.stdout, "data");
  return { child, ended };
}

const endless = (path: string): string => `
  async function* chunks() {
    for (let i = 0; ; i++) {
      yield "x".repeat(1000);
      if (i === 3) console.log("ready");
      await new Promise((done) => setTimeout(done, 1));
    }
  }
  await writeOutput(${JSON.stringify(path)}, chunks());`;

describe("a process that is ended while it writes", () => {
  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("leaves nothing by %s, and dies of it", async (signal) => {
    const folder = mkdtempSync(join(root, "each-"));
    const { child, ended } = await start(endless(join(folder, "run.jsonl")));
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/^remat-[0-9a-f]{16}\.part$/)]);
    child.kill(signal);
    expect(await ended).toEqual([null, signal]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("leaves nothing where it exits by itself", async () => {
    const folder = mkdtempSync(join(root, "each-"));
    const { ended } = await start(`setTimeout(() => process.exit(3), 50); ${endless(join(folder, "run.jsonl"))}`);
    expect(await ended).toEqual([3, null]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("leaves the ending to whoever else listens", async () => {
    const folder = mkdtempSync(join(root, "each-"));
    const { child, ended } = await start(
      `process.on("SIGTERM", () => process.exit(7)); ${endless(join(folder, "run.jsonl"))}`,
    );
    child.kill("SIGTERM");
    expect(await ended).toEqual([7, null]);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("two processes with one id that write one output", () => {
  it("leave one of the two as a whole, and both are content", async () => {
    const folder = mkdtempSync(join(root, "each-"));
    const path = join(folder, "run.jsonl");
    const write = (letter: string): string => `
      async function* chunks() {
        console.log("ready");
        for (let i = 0; i < 40; i++) {
          yield "${letter}".repeat(10_000);
          await new Promise((done) => setTimeout(done, 1));
        }
      }
      await writeOutput(${JSON.stringify(path)}, chunks());`;
    for (let round = 0; round < 3; round++) {
      const children = await Promise.all([start(write("a"), 1), start(write("b"), 1)]);
      const codes = await Promise.all(children.map(({ ended }) => ended));
      expect(codes).toEqual([
        [0, null],
        [0, null],
      ]);
      expect(readFileSync(path, "utf8")).toMatch(/^(a{400000}|b{400000})$/);
      expect(readdirSync(folder)).toEqual(["run.jsonl"]);
    }
  });
});

describe("a shell's descriptors", () => {
  const run = (line: string): Promise<string> =>
    new Promise((done, fail) => {
      const child = spawn("bash", ["-c", line], { stdio: ["ignore", "pipe", "inherit"] });
      let text = "";
      child.stdout.on("data", (chunk) => (text += chunk));
      child.on("close", (code) => (code === 0 ? done(text) : fail(new Error(`exit code ${code}`))));
    });
  const script = join(root, "write.mjs");
  const node = `'${process.execPath}' '${script}'`;

  it("are written to: >(command), /dev/stdout into a pipe or a file, a pipe that is closed early", async () => {
    writeFileSync(
      script,
      `import { writeOutput } from ${JSON.stringify(module)};
       await writeOutput(process.argv[2], Array(Number(process.argv[3] ?? 1)).fill("line\\n"));`,
    );
    expect(await run(`${node} >(tr a-z A-Z); wait $!`)).toBe("LINE\n");
    expect(await run(`${node} /dev/stdout | cat`)).toBe("line\n");
    expect(await run(`echo before > '${root}/log'; ${node} /dev/stdout >> '${root}/log'; cat '${root}/log'`)).toBe(
      "before\nline\n",
    );
    expect(await run(`set -o pipefail; ${node} >(head -1) 100000; wait $!`)).toBe("line\n");
    expect(await run(`${node} /dev/fd/5 5>&1`)).toBe("line\n");
  });
});

describe("a file that is protected from being written", () => {
  it("is refused, and stays, though its folder would let another take its place", () => {
    const folder = mkdtempSync(join(root, "each-"));
    for (const open of [root, folder]) chmodSync(open, 0o777);
    const path = join(folder, "kept.json");
    writeFileSync(path, "before");
    chmodSync(path, 0o444);
    const code = `const { writeOutput, replaceFile } = await import(${JSON.stringify(module)});
      const said = [];
      for (const write of [writeOutput, replaceFile])
        try { await write(${JSON.stringify(path)}, "after"); } catch ({ code }) { said.push(code); }
      console.log(said.join());`;
    const said = execFileSync(process.execPath, ["--input-type=module", "-e", code], { ...nobody, encoding: "utf8" });
    expect(said.trim()).toBe("EACCES,EACCES");
    expect(readFileSync(path, "utf8")).toBe("before");
    expect(readdirSync(folder)).toEqual(["kept.json"]);
  });
});
