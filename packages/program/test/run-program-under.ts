import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseTrace, type Trace } from "@remat/trace";
import { bundleAgent } from "../bundle-agent.js";
import { type ProgramOrder, runProgram, type ThreadReport } from "../src/index.js";

let bundled: Promise<string> | undefined;

/**
 * Returns the folder of what is loaded into programs, bundled from sources: by `e2e-setup.ts`, or here for tests of other
 * packages and for the fuzzer.
 */
export async function agentFromSources(): Promise<string> {
  const provided = process.env["TEST_AGENT_FOLDER"];
  bundled ??= provided === undefined ? bundleHere() : Promise.resolve(provided);
  return bundled;
}

async function bundleHere(): Promise<string> {
  const folder = fileURLToPath(new URL(`../node_modules/.remat-test/${process.pid}`, import.meta.url));
  await bundleAgent(folder, ["@remat/source"]);
  return folder;
}

export const programPath = (name: string): string => fileURLToPath(new URL(`programs/${name}`, import.meta.url));
export const programsFolder: string = fileURLToPath(new URL("programs", import.meta.url));

/** Behaviour of a program, and the result of the order. */
export interface ProgramRun {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly reports: readonly ThreadReport[];
  readonly traces: readonly Trace[];
}

export async function runUnder(order: ProgramOrder, command: readonly string[], cwd?: string): Promise<ProgramRun> {
  const output = { stdout: "", stderr: "" };
  const start = {
    command,
    order,
    cwd: cwd ?? programsFolder,
    stdio: ["ignore", "pipe", "pipe"] as ["ignore", "pipe", "pipe"],
    onOutput: (text: string, stream: "stdout" | "stderr") => (output[stream] += text),
    agentFolder: await agentFromSources(),
  };
  return runProgram(start, ({ exitCode, reports }) => {
    const recorded = reports.flatMap((report) => report.recorded ?? []);
    return { exitCode, reports, traces: recorded.map(({ file }) => parseTrace(readFileSync(file))), ...output };
  });
}

/** The same program without us. */
export function runStock(command: readonly string[], cwd: string = programsFolder): string {
  const [file, ...args] = command;
  const { status, stdout, stderr } = spawnSync(file, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command.join(" ")}: exit code ${status}\n${stderr}`);
  return stdout;
}
