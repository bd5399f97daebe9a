import { readFileSync } from "node:fs";

/**
 * Returns how many processes the system has killed for lack of memory since it started, including those in containers,
 * or undefined if it does not count them.
 *
 * @internal
 */
export function countOomKills(): number | undefined {
  try {
    const [, count] = /^oom_kill (\d+)$/m.exec(readFileSync("/proc/vmstat", "utf8")) ?? [];
    return count === undefined ? undefined : Number(count);
  } catch {
    // Not Linux.
    return undefined;
  }
}
