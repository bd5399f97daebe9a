import { RematError } from "@remat/trace";
import type { AllocatorLog } from "./allocator-log.js";
import { readBfcLogs } from "./read-bfc-log.js";
import { readCudaSummary } from "./read-cuda-summary.js";
import { readReports, readSymptoms } from "./read-wordings.js";

/**
 * Reads the last out-of-memory report of a log.
 *
 * @param text the log
 * @param name the name of the log, for errors
 * @throws RematError `ALLOCATOR_LOG` if the text has no such report, or contains a size that no allocator can have
 * @example
 * readAllocatorLog(readFileSync("oom.log", "utf8")).askedBytes;
 */
export function readAllocatorLog(text: string, name = "the log"): AllocatorLog {
  return readAllocatorLogs(text, name).at(-1) as AllocatorLog;
}

/**
 * Reads the out-of-memory reports of a log, in the order of the text: the last one of each device and process. A log of
 * several ranks has several. PyTorch, TensorFlow, JAX, the libraries below them, Python and the operating system word
 * their reports differently; `wordings` has one entry for each. Takes time linear in the length of the text.
 *
 * @param text the log
 * @param name the name of the log, for errors
 * @throws RematError `ALLOCATOR_LOG` if the text has no such report, or contains a size that no allocator can have
 * @example
 * readAllocatorLogs(readFileSync("oom.log", "utf8")).map(judgeAllocatorLog); // ["full", "other-process"]
 */
export function readAllocatorLogs(text: string, name = "the log"): readonly AllocatorLog[] {
  const logs = naming(name, () => reportsIn(text));
  if (logs.length > 0) return logs;
  const found =
    text.trim() === ""
      ? "it is empty"
      : text.includes("this is not a failure")
        ? "the log says that this was not a failure: the program continued with less memory"
        : "it contains no out-of-memory report";
  throw new RematError(
    "ALLOCATOR_LOG",
    `${name}: ${found}. Save the program's whole stderr: remat reads the out-of-memory errors of PyTorch, TensorFlow, JAX and Python, and torch.cuda.memory_summary().`,
  );
}

function naming<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof RematError)) throw cause;
    throw new RematError(cause.code, `${name}: ${cause.message}`, { cause });
  }
}

function reportsIn(text: string): readonly AllocatorLog[] {
  const bfc = readBfcLogs(text);
  const summary = readCudaSummary(text);
  const reports = withSummary(lastOfEach(readReports(text)), summary);
  if (bfc.length > 0) return [...bfcWithPrograms(bfc, reports), ...reports.filter(({ kind }) => kind !== "xla")];
  if (reports.length > 0) return reports;
  return lastOfEach(readSymptoms(text));
}

/** Returns the last report of each device and process. Programs print the same error several times. */
function lastOfEach(reports: readonly AllocatorLog[]): readonly AllocatorLog[] {
  const last = new Map<string, AllocatorLog>();
  for (const report of reports) {
    const key = `${report.reporter} ${report.kind} ${report.name}`;
    // The order is that of the last reports.
    last.delete(key);
    last.set(key, report);
  }
  const sizes = (log: AllocatorLog): string => JSON.stringify({ ...log, reporter: undefined });
  const known = new Set([...last.values()].filter(({ reporter }) => reporter !== undefined).map(sizes));
  return [...last.values()].filter((log) => log.reporter !== undefined || !known.has(sizes(log)));
}

/** Adds what a memory summary says to the report on its device, or returns the summary if there is none. */
function withSummary(reports: readonly AllocatorLog[], summary: AllocatorLog | undefined): readonly AllocatorLog[] {
  if (summary === undefined) return reports;
  const { bins, peakBytes } = summary;
  const isOf = ({ kind, name }: AllocatorLog): boolean => kind === "cuda" && name === summary.name;
  return reports.some(isOf)
    ? reports.map((report) => (isOf(report) ? { ...report, bins, peakBytes } : report))
    : [...reports, summary];
}

/** XLA allocates through TensorFlow's allocator, and prints the program that failed after the allocator's log. */
function bfcWithPrograms(bfc: readonly AllocatorLog[], reports: readonly AllocatorLog[]): readonly AllocatorLog[] {
  const program = reports.findLast((report) => report.program !== undefined)?.program;
  return program === undefined ? bfc : bfc.map((log, i) => (i === bfc.length - 1 ? { ...log, program } : log));
}
