import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readPlan, readTrace, type Trace } from "@remat/trace";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chainGraph } from "./fixtures/chain-graph.js";
import { twoLayers } from "./fixtures/two-layers.js";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-outputs-"));
const before = process.cwd();
const model = join(folder, "two-layers.json");
const graph = join(folder, "graph.json");
beforeAll(() => {
  process.chdir(folder);
  writeFileSync(model, JSON.stringify(twoLayers("softmax")));
  writeFileSync(graph, JSON.stringify(chainGraph));
});
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

const inputs = ["graph.json", "two-layers.json"];
const planning = ["plan", graph, "--budget", "100%", "--iterations", "1"];
const traceOf = (text: string): Promise<Trace> => readTrace([Buffer.from(text)]);

describe("a path", () => {
  it("is what was typed: no number, not another option", async () => {
    const names = ["1.10", "0x10", "007", "1e3"];
    for (const name of names) {
      expect(await remat(...planning, "-o", name)).toMatchObject({ code: 0, stderr: "" });
      expect(await remat(...planning, `--output=${name}.json`)).toMatchObject({ code: 0, stderr: "" });
    }
    expect(readdirSync(folder).toSorted()).toEqual(
      [...names, ...names.map((name) => `${name}.json`), ...inputs].toSorted(),
    );
    for (const name of readdirSync(folder)) if (!inputs.includes(name)) rmSync(name);
  });

  it("is not empty", async () => {
    for (const option of [["-o", ""], ["--output="], ["-o"]]) {
      const { code, stdout, stderr } = await remat(...planning, ...option);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(/^remat: .*(expects a value; found "|argument missing).* See remat plan --help\.\n$/);
    }
    expect(readdirSync(folder)).toEqual(inputs);
  });
});

describe("standard output as a file", () => {
  it("gets the plan, and the table goes beside it", async () => {
    const file = await remat(...planning, "-o", "-");
    expect(readPlan(file.stdout).subject.name).toBe("chain");
    expect(file.stderr).toContain("chain: 4 nodes, 4 edges");
    expect(existsSync("-")).toBe(false);
  });

  it("gets the trace of a model", async () => {
    for (const command of ["estimate", "memory"]) {
      const { code, stdout, stderr } = await remat(command, model, "--trace", "/dev/stdout");
      expect(code).toBe(0);
      expect((await traceOf(stdout)).ops.count).toBeGreaterThan(3);
      expect(stderr.length).toBeGreaterThan(100);
    }
  });

  it("gets a report, which nobody can open", async () => {
    const { stdout, stderr, code } = await remat("report", model, "--time", "0", "-o", "-");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^<!doctype html>/i);
    expect(stderr).toBe("");
    expect((await remat("report", model, "-o", "-", "--open")).stderr).toContain("--open needs a file");
  });

  it("is the place of one file only", async () => {
    const { code, stderr } = await remat("plan", model, "--budget", "90%", "-o", "-", "--trace", "-");
    expect(code).toBe(2);
    expect(stderr).toContain("-o and --trace both write to standard output");
  });
});

describe("outputs that are not files", () => {
  it("is written to: a device", async () => {
    expect((await remat("memory", model, "--trace", "/dev/null")).code).toBe(0);
    expect((await remat(...planning, "-o", "/dev/null")).code).toBe(0);
    expect(lstatSync("/dev/null").isCharacterDevice()).toBe(true);
    const full = await remat(...planning, "-o", "/dev/full");
    expect(full.code).toBe(1);
    expect(full.stderr).toMatch(/^remat: \/dev\/full: cannot be written \(ENOSPC.*Choose another file with -o\.\n$/);
  });

  it("is written to: a descriptor that this process was given, as by a shell's >(command)", async () => {
    const fd = openSync("given.jsonl", "w");
    expect((await remat("estimate", model, "--trace", `/dev/fd/${fd}`)).code).toBe(0);
    closeSync(fd);
    expect((await traceOf(readFileSync("given.jsonl", "utf8"))).ops.count).toBeGreaterThan(3);
  });
});

describe("--graphs", () => {
  it("is refused in one line where a file is in the way", async () => {
    writeFileSync("taken", "a file");
    for (const name of ["taken", "taken/inner"]) {
      const { code, stderr } = await remat("estimate", model, "--graphs", name);
      expect(code).toBe(1);
      expect(stderr).toBe(
        `remat: ${name}: cannot be used as the folder of graphs (it is, or is in, a file). Name another folder; it may be a new one.\n`,
      );
    }
    expect(readFileSync("taken", "utf8")).toBe("a file");
  });

  it("leaves drawings and nothing else", async () => {
    mkdirSync("graphs");
    await remat("estimate", model, "--graphs", "graphs");
    expect(readdirSync("graphs").length).toBeGreaterThan(0);
    expect(readdirSync("graphs").every((name) => /\.(svg|png)$/.test(name))).toBe(true);
  });
});
