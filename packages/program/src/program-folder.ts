import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const names = /^remat-program-(\d+)-(\d+)-/;

/**
 * Makes the folder through which a program and the process that runs it talk, and removes those of processes that are no more. A process is told by its id
 * and the namespace of that, since containers may share a folder for temporary files.
 *
 * @internal
 */
export function makeProgramFolder(parent: string = tmpdir()): string {
  const here = namespaceId();
  for (const name of namesIn(parent)) {
    const [, namespace, pid] = names.exec(name) ?? [];
    if (namespace === here && !isRunning(Number(pid))) remove(join(parent, name));
  }
  return mkdtempSync(join(parent, `remat-program-${here}-${process.pid}-`));
}

/** A folder that can be written to need not be readable. */
function namesIn(parent: string): readonly string[] {
  try {
    return readdirSync(parent);
  } catch {
    return [];
  }
}

function namespaceId(): string {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  } catch {
    // Systems without namespaces have one.
    return "0";
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // It may be another user's.
  }
}
