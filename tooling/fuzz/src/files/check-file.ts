import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadKerasModel } from "@remat/keras-loader";
import { runCli } from "../../../../apps/cli/src/cli.js";

/**
 * Has a command read a file of any bytes, in this process: it is read, or refused in one line that names the file, or the model in it, by an error that
 * somebody thought of. Tells what is otherwise, or undefined.
 */
export async function checkFile(
  name: string,
  bytes: Uint8Array,
  command: readonly string[],
): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "remat-fuzz-"));
  const path = join(folder, name);
  writeFileSync(path, bytes);
  let stderr = "";
  try {
    const code = await runCli([command[0], path, ...command.slice(1)], {
      stdout: { write: () => {} },
      stderr: { write: (text) => (stderr += text) },
      env: { REMAT_DEBUG: "1" },
    });
    if (code === 0) return undefined;
    const [line, ...stack] = stderr
      .replaceAll(folder, "")
      .trimEnd()
      .split("\n")
      .filter((each) => each.startsWith("remat: ") || each.startsWith("    at") || /Error/.test(each));
    const isThoughtOf =
      /^(RematError|UsageError|BudgetError|InfeasibleBudgetError|DataDependentError|CommanderError)\b/.test(
        stack[0] ?? "",
      );
    // A model that can be built may fail by itself.
    if (!isThoughtOf && name === "model.json" && isBuilt(bytes)) return undefined;
    if (!isThoughtOf) return `${command[0]} raised ${[line, ...stack].join("\n")}`;
    // What is wrong with a model that could be read is said of the model.
    return line.includes(name) || /^remat: (the )?(model|trace|graph|step|event) /.test(line)
      ? undefined
      : `${command[0]} names no file: ${line}`;
  } catch (error) {
    return `${command[0]} threw ${(error as Error).stack ?? String(error)}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function isBuilt(bytes: Uint8Array): boolean {
  try {
    loadKerasModel(Buffer.from(bytes).toString()).dispose();
    return true;
  } catch {
    return false;
  }
}
