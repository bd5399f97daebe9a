import { dirname } from "node:path";
import { type FailedOperation, saidBy } from "./outside/failed-operation.js";
import type { ProgramOrder } from "./program-order.js";

/** Descriptions, as `perror` prints them. */
const reasons: Readonly<Record<string, string>> = {
  ENOSPC: "no space left on device",
  EDQUOT: "disk quota exceeded",
  EMFILE: "too many open files",
  ENFILE: "too many open files in the system",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EROFS: "read-only file system",
  ENOENT: "no such file or directory",
  ENOTDIR: "not a directory",
  EFBIG: "file too large",
  EIO: "input/output error",
};

const adviceOf = (code: string): string => {
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return "Set TMPDIR to a folder with free space.";
    case "EMFILE":
    case "ENFILE":
      return "Allow more open files (ulimit -n).";
    case "EFBIG":
      return "Allow larger files (ulimit -f).";
    case "ENOENT":
      return "Set TMPDIR to a folder that is not cleaned while the program runs.";
    default:
      return "Set TMPDIR to a folder that you can write to.";
  }
};

const reasonOf = ({ code, message }: Pick<FailedOperation, "code" | "message">): string =>
  reasons[code] === undefined ? message.replace(/^[A-Z]+: /, "") : `${reasons[code]} (${code})`;

/**
 * Describes in one line an operation that failed while the program kept running, and what to do about it.
 *
 * @internal
 */
export function describeFailedOperation(failure: FailedOperation): string {
  const { doing, path, code } = failure;
  if (doing === "write")
    return `Could not write to ${dirname(path)}: ${reasonOf(failure)}. The program went on; remat's report is incomplete. ${adviceOf(code)}`;
  const advice = code === "EMFILE" || code === "ENFILE" ? adviceOf(code) : "Install remat again if it is damaged.";
  return `Could not read ${path}: ${reasonOf(failure)}. The program went on; remat's report is incomplete. ${advice}`;
}

/**
 * Describes the same for the folder that the runner could not create before starting the program.
 *
 * @internal
 */
export function describeNoFolder(parent: string, cause: unknown, { kind }: ProgramOrder): string {
  const said = saidBy(cause);
  const { code } = said;
  const consequence =
    kind === "exec"
      ? "The program runs as asked, but remat cannot report what it used."
      : "The program runs without remat, and nothing is reported.";
  const advice = code === "ENOENT" ? "Set TMPDIR to a folder that you can write to." : adviceOf(code);
  return `Could not make a folder in ${parent}: ${reasonOf(said)}. ${consequence} ${advice}`;
}
