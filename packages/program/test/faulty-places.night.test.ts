import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sampledCases } from "@remat/testkit";
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type ProgramEnd, type ProgramStart, runProgram } from "../src/index.js";
import { orders } from "./faults/run-with-fault.js";
import { agentFromSources, programsFolder } from "./run-program-under.js";

const place = mkdtempSync(join(tmpdir(), "remat-places-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));
beforeEach(() => void vi.stubEnv("TMPDIR", place));

/** The folder in which the program runs, and in which the shell starts it. */
const shell = (limit: string): string[] => ["sh", "-c", `${limit}; exec "$0" short.cjs`, process.execPath];

interface Ran extends Pick<ProgramEnd, "exitCode" | "loss" | "reports"> {
  readonly stdout: string;
  readonly stderr: string;
  readonly told: readonly string[];
}

async function run(start: Pick<ProgramStart, "order" | "command"> & Partial<ProgramStart>): Promise<Ran> {
  const output = { stdout: "", stderr: "" };
  const told: string[] = [];
  const given: ProgramStart = {
    cwd: programsFolder,
    stdio: ["ignore", "pipe", "pipe"],
    onOutput: (text, stream) => (output[stream] += text),
    onLoss: (line) => told.push(line),
    agentFolder: await agentFromSources(),
    ...start,
  };
  return runProgram(given, ({ exitCode, reports, loss }) => ({
    exitCode,
    reports,
    ...(loss !== undefined && { loss }),
    ...output,
    told,
  }));
}

/** The same without remat. */
function alone([file, ...args]: readonly string[]): Pick<Ran, "exitCode" | "stdout" | "stderr"> {
  const { status, stdout, stderr } = spawnSync(file, args, { cwd: programsFolder, encoding: "utf8" });
  return { exitCode: status ?? -1, stdout, stderr };
}

const ofProgram = ({ exitCode, stdout, stderr }: Ran) => ({ exitCode, stdout, stderr });

describe.each(sampledCases(Object.entries(orders), 2))(
  "under %s a program ends as it does alone, and one line says what is missing",
  (_name, order) => {
    it("if no file can hold anything (ulimit -f 0)", async () => {
      const command = shell("ulimit -f 0");
      const ran = await run({ order, command });
      expect(ofProgram(ran)).toEqual(alone(command));
      expect(ran.told).toEqual([
        expect.stringMatching(
          /^Could not write to .*remat-program-[^ ]*: file too large \(EFBIG\)\. The program went on; remat's report is incomplete\. Allow larger files \(ulimit -f\)\.$/,
        ),
      ]);
      expect(ran.loss).toBe(ran.told[0]);
    });

    it("if few files may be open at once (ulimit -n 40)", async () => {
      const command = shell("ulimit -n 40");
      const ran = await run({ order, command });
      expect(alone(command).exitCode).toBe(3);
      expect(ofProgram(ran)).toEqual(alone(command));
      expect(ran.told.length).toBeLessThanOrEqual(1);
      for (const line of ran.told)
        expect(line).toMatch(/too many open files.*Allow more open files: ulimit -n 1024\.$/);
    });

    it("if the folder for temporary files is cleaned while it runs", async () => {
      const clean = `for (const each of fs.readdirSync(process.env.TMPDIR)) fs.rmSync(process.env.TMPDIR + "/" + each, { recursive: true });`;
      const command = [
        process.execPath,
        "-e",
        `const fs = require("node:fs"); let n = 0; const { log } = console; console.log = (...all) => { if (n++ === 2) { ${clean} } log(...all); }; require("./short.cjs");`,
      ];
      const ran = await run({ order, command });
      expect(ofProgram(ran)).toEqual(alone(command));
      expect(ran.told).toEqual([
        expect.stringMatching(
          /no such file or directory \(ENOENT\)\. The program went on; remat's report is incomplete\. Set TMPDIR to a folder that is not cleaned/,
        ),
      ]);
    });

    it("if there is no folder for temporary files, which is reported before it starts", async () => {
      vi.stubEnv("TMPDIR", join(place, "none"));
      const command = [process.execPath, "short.cjs"];
      const order_: string[] = [];
      const ran = await run({
        order,
        command,
        onLoss: (line) => order_.push(line),
        onOutput: () => order_.push("output"),
      });
      expect(ran.exitCode).toBe(3);
      expect(order_[0]).toMatch(
        /^Could not make a folder in .*\/none: no such file or directory \(ENOENT\)\..*Set TMPDIR to a folder that you can write to\.$/,
      );
      expect(order_.filter((each) => each !== "output")).toHaveLength(1);
      expect(ran.reports).toEqual([]);
    });

    it("if showing its reports fails", async () => {
      const command = [process.execPath, "short.cjs"];
      const ran = await run({
        order,
        command,
        onReports: () => {
          throw new Error("EIO: the terminal is gone");
        },
      });
      expect(ofProgram(ran)).toEqual(alone(command));
      expect(ran.reports).toHaveLength(1);
    });
  },
);

// A small file system needs the rights to mount one.
const small = join(place, "small");
mkdirSync(small);
const canMount = spawnSync("mount", ["-t", "tmpfs", "-o", "size=16k", "tmpfs", small]).status === 0;
afterAll(() => {
  if (canMount) spawnSync("umount", [small]);
});

describe.runIf(canMount).each(Object.entries(orders))(
  "under %s, with a full folder for temporary files",
  (_name, order) => {
    it("a program ends as it does alone, and one line says so", async () => {
      spawnSync("dd", ["if=/dev/zero", `of=${small}/filler`, "bs=1k", "count=64"]);
      vi.stubEnv("TMPDIR", small);
      const command = [process.execPath, "short.cjs"];
      const ran = await run({ order, command });
      expect(ofProgram(ran)).toEqual(alone(command));
      expect(ran.told).toEqual([
        expect.stringMatching(
          /no space left on device \(ENOSPC\)\. The program went on; remat's report is incomplete\. Set TMPDIR to a folder with free space\.$/,
        ),
      ]);
    });
  },
);
