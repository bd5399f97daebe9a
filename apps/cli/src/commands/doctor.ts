import { RematError } from "@remat/trace";
import type { Command, CommandOptions } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { backendFix } from "../doctor/backend-fix.js";
import { type Examination, examine, type Probe } from "../doctor/examine.js";
import { renderExamination } from "../doctor/render-examination.js";
import { Progress } from "../progress.js";
import { parseChoice } from "../usage-error.js";

/** `remat doctor`. */
export const doctorCommand: Command = {
  options: [{ flags: "--format <format>", purpose: "table or json", default: "table" }],
  examples: [],
  run: (_targets, options, io) => doctor(options, io),
};

/** `remat doctor`: what of the machine and of each backend is there, and what to do about what is not. */
export async function doctor(options: CommandOptions, io: ConsoleIo, probe?: Probe): Promise<void> {
  const format = parseChoice("format", options["format"], ["table", "json"]);
  const progress = new Progress(io);
  progress.show("trying each backend", true);
  let found: Examination;
  try {
    found = await examine(process.cwd(), probe);
  } finally {
    progress.clear();
  }
  io.stdout.write(format === "json" ? `${JSON.stringify(toJson(found), undefined, 2)}\n` : renderExamination(found));
  if (!found.backends.some(({ works }) => works))
    throw new RematError("NO_BACKEND", "no backend works here; the table says what to do about each.");
}

function toJson(found: Examination): unknown {
  const gpu = found.gpus.length > 0;
  return { ...found, backends: found.backends.map((probe) => ({ ...probe, fix: backendFix(probe, gpu) })) };
}
