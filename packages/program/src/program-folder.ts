import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const names = /^remat-program-(\d+)-(\d+)-/;

/**
 * Creates the folder through which a program and its runner communicate, and removes folders of processes that no
 * longer exist. A process is identified by its id and the id's namespace, since containers may share a folder for
 * temporary files.
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

/** A writable folder need not be readable. */
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
    // Systems without namespaces have a single one.
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
    // The folder may belong to another user.
  }
}
