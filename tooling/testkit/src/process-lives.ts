import { readFileSync } from "node:fs";

/** Tells whether there is such a process that does anything: what has ended may wait to be buried by whoever is the first process here. */
export function processLives(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
