// Waits until the process that runs a program ends, which closes the other end of standard input, and then ends the
// program.
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";

const [program, folder] = process.argv.slice(2) as [string, string | undefined];
/** Time that a program has to end by itself. */
const patienceMs = 3000;
const lookMs = 50;

interface Found {
  readonly pid: number;
  readonly parent: number;
  /** Together with the id it identifies a process. */
  readonly startedAt: string;
}

/** Returns a process that is running. A zombie does not count. */
function find(pid: number): Found | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The part before it is a name, which can contain anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, parent] = fields;
    const startedAt = fields[19];
    return state === "Z" || startedAt === undefined ? undefined : { pid, parent: Number(parent), startedAt };
  } catch {
    return undefined;
  }
}

/** Returns a process and all its descendants. */
function familyOf(first: Found): readonly Found[] {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => find(Number(name)) ?? []);
  const family = [first];
  for (const { pid } of family) family.push(...all.filter(({ parent }) => parent === pid));
  return family;
}

const isAlive = ({ pid, startedAt }: Found): boolean => find(pid)?.startedAt === startedAt;

function end(each: Found, signal: NodeJS.Signals): void {
  try {
    if (isAlive(each)) process.kill(each.pid, signal);
  } catch {
    // The process has ended in the meantime.
  }
}

/** Ends the program on systems where its descendants cannot be determined. */
function endUnseen(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch {
    // It has already ended.
  }
}

const first = find(Number(program));

async function endProgram(): Promise<void> {
  if (!existsSync("/proc/self")) endUnseen(Number(program));
  if (first !== undefined && isAlive(first)) {
    const family = familyOf(first);
    for (const each of family) end(each, "SIGTERM");
    for (let waitedMs = 0; waitedMs < patienceMs && family.some(isAlive); waitedMs += lookMs)
      await new Promise((resolve) => setTimeout(resolve, lookMs));
    for (const each of family) end(each, "SIGKILL");
  }
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}

// Signals sent to all processes of a terminal are for the program.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const) process.on(signal, () => {});
process.stdin.resume().once("close", () => void endProgram());
