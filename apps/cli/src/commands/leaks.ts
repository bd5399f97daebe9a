import { describeLeaks, growing } from "@remat/leaks";
import { runProgram, type ThreadReport } from "@remat/program";
import type { Command, CommandOptions } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { describeNoTensorFlow, programOf, trainingEnvironment } from "../program/program-command.js";
import { thisMachine } from "../verdict/this-machine.js";

/** `remat leaks`. */
export const leaksCommand: Command = {
  options: [],
  examples: ["remat leaks -- node app.js", "remat leaks -- npx tsx serve.ts"],
  takesProgram: true,
  run: (targets, options, io) => findLeaks(targets, options, io),
};

/** Runs a program, as it is (`remat leaks -- PROGRAM`), and tells which of its lines make tensors that outlive their step. */
export async function findLeaks(targets: readonly string[], _: CommandOptions, io: ConsoleIo): Promise<number> {
  const command = programOf("leaks", targets);
  return runProgram({ command, order: { kind: "leaks" }, env: trainingEnvironment() }, ({ exitCode, reports }) => {
    const { text, grows } = tellLeaks(command, reports);
    io.stderr.write(text);
    return exitCode === 0 && grows ? 1 : exitCode;
  });
}

/** Returns what is said of a program's threads, and whether any of them grows. */
export function tellLeaks(
  command: readonly string[],
  reports: readonly ThreadReport[],
): { readonly text: string; readonly grows: boolean } {
  const { name, memoryBytes } = thisMachine();
  const device = memoryBytes === undefined ? undefined : { name, memoryBytes };
  const lines = reports.flatMap(({ thread, problem, leaks }) => {
    const where = thread === 0 ? "" : `worker ${thread}: `;
    if (leaks === undefined) return problem === undefined ? [] : [problem];
    const [verdict, ...rest] = describeLeaks(leaks, { device });
    return [`${where}${verdict}`, ...rest.map((line) => `  ${line}`)];
  });
  const told = lines.length > 0 ? lines : [describeNoTensorFlow(command)];
  const text = told.map((line) => (line.startsWith(" ") ? `       ${line.slice(2)}` : `remat: ${line}`)).join("\n");
  return { text: `${text}\n`, grows: reports.some(({ leaks }) => leaks !== undefined && growing(leaks).length > 0) };
}
