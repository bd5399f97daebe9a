import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { parseTrace, type Trace, writeTrace } from "@remat/trace";
import { readArrowTrace } from "@remat/trace/arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeRecorded } from "../src/commands/record.js";
import { failedPath, numberedPath, planFileOf } from "../src/numbered-path.js";
import { twoLayers } from "./fixtures/two-layers.js";
import { type CliRun, remat } from "./run.js";

const before = process.cwd();
const folder = mkdtempSync(join(tmpdir(), "remat-arrow-"));
const [arrow, lines] = ["run.remat.arrow", "run.remat.jsonl"];

beforeAll(async () => {
  process.chdir(folder);
  writeFileSync("model.json", JSON.stringify(twoLayers("softmax")));
  expect((await remat("memory", "model.json", "--trace", arrow)).code).toBe(0);
  writeFileSync(lines, Buffer.concat([...writeTrace(readArrowTrace(readFileSync(arrow)))]));
});
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

const textOf = (trace: Trace): string => Buffer.concat([...writeTrace(trace)]).toString();
/** The output, without the name of the file. */
const shown = ({ code, stdout, stderr }: CliRun): unknown => ({
  code,
  text: `${stdout}${stderr}`.replaceAll("run.remat.arrow", "run.remat.jsonl"),
});

describe("a trace in an Arrow file", () => {
  it.each([
    ["memory"],
    ["memory", "--format", "json"],
    ["estimate", "--ops"],
    ["leaks"],
    ["plan", "--budget", "80%", "--iterations", "1"],
    ["compare", "--fsdp", "world=8"],
    ["ui", "--once"],
  ])("is read as the same run in JSON Lines: remat %s", async (command, ...options) => {
    const run = await remat(command, arrow, ...options);
    expect(run.code).toBe(0);
    expect(shown(run)).toEqual(shown(await remat(command, lines, ...options)));
  });

  it("is recognised by its first bytes, not by its name", async () => {
    const expected = shown(await remat("memory", lines));
    for (const [file, name] of [
      [arrow, "run.remat.jsonl.gz"],
      [lines, "lines.arrow"],
    ]) {
      renameSync(file, name);
      const { code, stdout } = await remat("memory", name);
      renameSync(name, file);
      expect({ code, text: stdout.replaceAll(name, lines) }).toEqual(expected);
    }
  });

  it("is written by --trace and by report --extract, gzipped if its name ends in .gz", async () => {
    await remat("memory", lines, "--trace", "again.arrow.gz");
    const again = readArrowTrace(gunzipSync(readFileSync("again.arrow.gz")));
    expect(textOf(again)).toBe(readFileSync(lines, "utf8"));
    expect((await remat("memory", "again.arrow.gz")).code).toBe(0);
    await remat("report", arrow, "--time", "0", "-o", "page.html");
    expect((await remat("report", "--extract", "page.html", "-o", "back.remat.arrow")).code).toBe(0);
    const [read, source] = [readArrowTrace(readFileSync("back.remat.arrow")), parseTrace(readFileSync(lines))];
    expect(read.ops.count).toBe(source.ops.count);
  });

  it("is written by remat record -o, gzipped if its name ends in .gz", async () => {
    const io = { stdout: { write: () => true }, stderr: { write: () => true }, env: {} };
    for (const path of ["recorded.arrow", "recorded.arrow.gz", "recorded.jsonl"]) {
      await writeRecorded(lines, path, io);
      const bytes = readFileSync(path);
      const trace = path.endsWith("l") ? parseTrace(bytes) : readArrowTrace(bytes);
      expect(textOf(trace)).toBe(readFileSync(lines, "utf8"));
    }
  });

  it("is rejected if it is cut short or if it is another Arrow file", async () => {
    const bytes = readFileSync(arrow);
    writeFileSync("cut.arrow", bytes.subarray(0, -100));
    const cut = await remat("memory", "cut.arrow");
    expect(cut).toMatchObject({ code: 1, stdout: "" });
    expect(cut.stderr).toContain(
      "cut.arrow: the file ends early, because writing or copying was stopped or the disk was full.",
    );
    const other = Buffer.from(bytes);
    for (let at = other.indexOf("trace"); at >= 0; at = other.indexOf("trace", at + 1)) other.write("track", at);
    writeFileSync("other.arrow", other);
    expect((await remat("memory", "other.arrow")).stderr).toContain(
      'other.arrow: not a remat trace: the metadata of its schema has no remat="trace".',
    );
  });

  it("has the number of a step before its extension", () => {
    expect(numberedPath("train.remat.arrow", 1, 3)).toBe("train.2.remat.arrow");
    expect(failedPath("train.arrow.gz")).toBe("train.failed.arrow.gz");
    expect(planFileOf("train.2.remat.arrow")).toBe("plan.2.json");
  });
});
