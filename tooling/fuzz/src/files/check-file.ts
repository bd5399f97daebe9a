import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { loadKerasModel } from "@remat/keras-loader";
import { runCli } from "../../../../apps/cli/src/cli.js";

/**
 * Placeholders in a command: the changed file, if it is not the model; a file that is not changed; a file that may be
 * written.
 */
export const [changedFile, changedFolder, recordedRun, written] = ["FILE", "FOLDER", "RUN", "OUT"];

/**
 * Makes a command read a file with arbitrary bytes, in this process. The command must read the file, or reject it by an
 * error of remat, in one line that names the file or the model in it. Returns any other outcome, or undefined.
 */
export async function checkFile(
  name: string,
  bytes: Uint8Array,
  command: readonly string[],
  run?: Uint8Array,
): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "remat-fuzz-"));
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
  const runPath = join(folder, "run.remat.jsonl");
  if (run !== undefined) writeFileSync(runPath, run);
  const places: Readonly<Record<string, string>> = {
    [changedFile]: path,
    [changedFolder]: dirname(path),
    [recordedRun]: runPath,
    [written]: join(folder, "out"),
  };
  const isGiven = command.includes(changedFile) || command.includes(changedFolder);
  const given = isGiven ? command : [command[0], changedFile, ...command.slice(1)];
  let stderr = "";
  try {
    const code = await runCli(
      given.map((word) => places[word] ?? word),
      {
        stdout: { write: () => {} },
        stderr: { write: (text) => (stderr += text) },
        env: { REMAT_DEBUG: "1" },
      },
    );
    if (code === 0) return undefined;
    // A step that grew is a valid answer.
    if (code === 1 && stderr === "" && given.includes("check")) return undefined;
    const lines = stderr.replaceAll(folder, "").trimEnd().split("\n");
    // A line about options from a configuration file comes first.
    const said = lines.filter((each) => each.startsWith("remat: "));
    const stack = lines.filter((each) => !said.includes(each) && (each.startsWith("    at") || /Error/.test(each)));
    const isThoughtOf =
      /^(RematError|UsageError|BudgetError|InfeasibleBudgetError|DataDependentError|CommanderError)\b/.test(
        stack[0] ?? "",
      );
    // A model that can be built may fail by itself.
    if (!isThoughtOf && name === "model.json" && isBuilt(bytes)) return undefined;
    if (!isThoughtOf) return `${command[0]} raised ${[...said, ...stack].join("\n")}`;
    // An error in a model that could be read names the model.
    return said.some((line) => line.includes(name) || /^remat: (the )?(model|trace|graph|step|event):? /.test(line))
      ? undefined
      : `${command[0]} names no file: ${said.join("\n")}`;
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
