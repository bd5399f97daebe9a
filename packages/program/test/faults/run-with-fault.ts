import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ProgramEnd, type ProgramOrder, runProgram, type ThreadReport } from "../../src/index.js";
import { agentFromSources, programsFolder } from "../run-program-under.js";

/** A call of remat's code in the program's process that fails: the `at`th. */
export interface CallFault {
  readonly at: number;
  /** As the system calls it. */
  readonly code: string;
  /** True if all later calls also fail. */
  readonly keeps: boolean;
}

/** Errors that a system gives. */
export const errorCodes = ["ENOSPC", "EMFILE", "ENOENT", "EIO", "EACCES"] as const;

/** The order of a command to a program, by the command's name. */
export const orders: Readonly<Record<string, ProgramOrder>> = {
  record: { kind: "record", steps: 3, seconds: 60, memoryBytes: 2 ** 34 },
  watch: { kind: "record", steps: 1, seconds: 60, watches: true },
  leaks: { kind: "leaks" },
  "exec --early-release": { kind: "exec" },
  "exec --budget 1GB": { kind: "exec", budget: "1GB" },
  "exec --budget 90%": { kind: "exec", budget: "90%" },
};

/** The program, which ends with exit code 3 and a hash of its weights. */
const command = [process.execPath, "short.cjs"];

interface Seen {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

let stock: Seen | undefined;

/** The program's behaviour without remat. */
function seenInStock(): Seen {
  if (stock !== undefined) return stock;
  const { status, stdout, stderr } = spawnSync(command[0], command.slice(1), { cwd: programsFolder, encoding: "utf8" });
  stock = { exitCode: status ?? -1, stdout, stderr };
  return stock;
}

let folder: string | undefined;

/** A folder of the agent in which calls fail as the environment says. */
export async function faultyAgent(): Promise<string> {
  if (folder !== undefined) return folder;
  const agent = await agentFromSources();
  folder = fileURLToPath(new URL(`../../node_modules/.remat-test/${process.pid}-faulty`, import.meta.url));
  mkdirSync(folder, { recursive: true });
  cpSync(agent, folder, { recursive: true });
  const preload = join(folder, "preload.cjs");
  const text = readFileSync(preload, "utf8");
  copyFileSync(fileURLToPath(new URL("../programs/fail-calls.cjs", import.meta.url)), join(folder, "fail-calls.cjs"));
  renameSync(preload, join(folder, "preload.real.cjs"));
  const { writeFileSync } = await import("node:fs");
  writeFileSync(preload, `require("./fail-calls.cjs");\n${text}`);
  return folder;
}

export function removeFaultyAgent(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
}

async function run(order: ProgramOrder, fault: object): Promise<Seen & Pick<ProgramEnd, "reports" | "loss">> {
  const output = { stdout: "", stderr: "" };
  return runProgram(
    {
      command,
      order,
      cwd: programsFolder,
      env: { REMAT_FAULT: JSON.stringify(fault) },
      stdio: ["ignore", "pipe", "pipe"],
      onOutput: (text, stream) => (output[stream] += text),
      agentFolder: await faultyAgent(),
      countKills: () => 0,
    },
    ({ exitCode, reports, loss }) => ({ exitCode, ...output, reports, ...(loss !== undefined && { loss }) }),
  );
}

/** Names of the calls that remat's code makes in the program, in order. */
export async function callsOf(name: string): Promise<readonly string[]> {
  const scratch = mkdtempSync(join(tmpdir(), "remat-calls-"));
  const counts = join(scratch, "calls");
  try {
    await run(orders[name], { counts });
    return existsSync(counts) ? readFileSync(counts, "utf8").trim().split("\n") : [];
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** Content of a report without times and sizes. */
const contentOf = ({ passes, recorded, executed, leaks, watched, isOver, problem }: ThreadReport): string =>
  JSON.stringify({
    passes,
    recorded: recorded?.map(({ optimizer, steps, ops }) => ({ optimizer, steps, ops })),
    executed: executed !== undefined,
    leaks: leaks?.periods,
    watched: watched !== undefined,
    isOver,
    problem,
  });

const complete = new Map<string, string>();

async function completeReports(name: string): Promise<string> {
  const known = complete.get(name);
  if (known !== undefined) return known;
  const { reports } = await run(orders[name], {});
  const told = reports.map(contentOf).join("\n");
  complete.set(name, told);
  return told;
}

/** Runs the program under a command with a fault. Returns how it differs from the program alone, or what it leaves unsaid; undefined if nothing is wrong. */
export async function checkCallFault(name: string, fault: CallFault): Promise<string | undefined> {
  const expected = seenInStock();
  const found = await run(orders[name], fault);
  for (const key of ["exitCode", "stdout", "stderr"] as const)
    if (found[key] !== expected[key]) return `${key}: expected ${expected[key]}, found ${found[key]}`;
  if (found.loss !== undefined) return /\.$/.test(found.loss) && !found.loss.includes("\n") ? undefined : found.loss;
  const told = found.reports.map(contentOf).join("\n");
  const whole = await completeReports(name);
  return told === whole ? undefined : `nothing is said of what is missing: expected ${whole}, found ${told}`;
}
