import { readFileSync } from "node:fs";

/**
 * Returns whether a process exists and is running. A zombie, which waits to be reaped by the first process here, does
 * not count.
 */
export function processLives(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
