import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseTrace, readPlan } from "@remat/trace";

const main = fileURLToPath(new URL("../../../../apps/cli/dist/main.js", import.meta.url));
const model = fileURLToPath(new URL("../../../../examples/transformer/model.js", import.meta.url));

/**
 * A command that writes a file: its arguments with the file last, and a check that throws if the file is incomplete.
 */
interface WritingCommand {
  readonly args: readonly string[];
  readonly file: string;
  readonly read: (bytes: Buffer) => unknown;
}

const requireEnd = (bytes: Buffer): void => {
  if (!bytes.toString().trimEnd().endsWith("</html>")) throw new Error("the page does not end");
};

/** Commands that write, by the kind of file. */
export const writingCommands: Readonly<Record<string, WritingCommand>> = {
  trace: {
    args: ["estimate", model, "--size", "tiny", "--trace"],
    file: "step.remat.jsonl",
    read: (bytes) => parseTrace(bytes),
  },
  "compressed trace": {
    args: ["memory", model, "--size", "tiny", "--trace"],
    file: "step.remat.jsonl.gz",
    read: (bytes) => parseTrace(bytes),
  },
  plan: {
    args: ["plan", model, "--size", "tiny", "--budget", "90%", "--time", "300ms", "-o"],
    file: "plan.json",
    read: (bytes) => readPlan(bytes.toString()),
  },
  report: { args: ["report", model, "--size", "tiny", "--time", "0", "-o"], file: "report.html", read: requireEnd },
};

export interface Interrupt {
  readonly signal: "SIGINT" | "SIGTERM" | "SIGKILL";
  readonly afterMs: number;
  /** True if the file existed before. */
  readonly hasOld: boolean;
}

/**
 * Ends a command that writes a file at any moment. The file must be complete or unchanged, and nothing else may be
 * left, unless the command could not notice its end. Returns any difference, or undefined.
 */
export async function checkInterrupt(
  name: string,
  { signal, afterMs, hasOld }: Interrupt,
): Promise<string | undefined> {
  const { args, file, read } = writingCommands[name];
  const folder = mkdtempSync(join(tmpdir(), "remat-fuzz-"));
  const path = join(folder, file);
  const old = "what was there before";
  try {
    if (hasOld) writeFileSync(path, old);
    const child = spawn(process.execPath, [main, ...args, path], { stdio: "ignore", cwd: folder });
    const timer = setTimeout(() => child.kill(signal), afterMs);
    const ended = await new Promise<string>((resolve) =>
      child.on("close", (code, by) => resolve(by ?? `code ${code}`)),
    );
    clearTimeout(timer);
    const others = readdirSync(folder).filter((each) => each !== file);
    if (others.length > 0 && signal !== "SIGKILL") return `ended by ${ended}, it leaves ${others.join(", ")}`;
    if (!existsSync(path)) return hasOld || ended === "code 0" ? `ended by ${ended}, the file is gone` : undefined;
    const bytes = readFileSync(path);
    if (hasOld && bytes.toString() === old) return ended === "code 0" ? "nothing was written" : undefined;
    read(bytes);
    return undefined;
  } catch (error) {
    return `the file is not whole: ${(error as Error).message}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
