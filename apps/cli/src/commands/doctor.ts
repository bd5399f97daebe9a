import type { OutputFormat } from "@remat/reporting/formats";
import { RematError } from "@remat/trace";
import { type Command, defineCommand, type OptionValues, option } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { examinationDocument } from "../doctor/examination-document.js";
import { examinationFacts } from "../doctor/examination-facts.js";
import { type Examination, examine, type Probe } from "../doctor/examine.js";
import {
  countProblems,
  type Verification,
  verificationDocument,
  verifyLoadedFiles,
} from "../doctor/verify-loaded-files.js";
import { formatOption, shapeOf } from "../format-option.js";
import { Progress } from "../progress.js";
import { withFactsFirst } from "../verdict/show-verdict.js";

/** The options of `remat doctor`. */
export const doctorOptions = [
  formatOption,
  option("--verify", {
    group: "usual",
    access: "data",
    purpose:
      "Instead of trying backends, check the hash of every file that remat loads from its cache, including TensorFlow's libraries",
  }),
];

export const doctorCommand: Command = defineCommand({
  options: doctorOptions,
  examples: ["remat doctor", "remat doctor --verify", "remat doctor --format json"],
  run: ({ options, io }) => doctor(options, io),
});

/** Examines the machine and each backend (`remat doctor`): what works, and how to fix what does not. */
export async function doctor(
  { format, verify: verifies }: OptionValues<typeof doctorOptions>,
  io: ConsoleIo,
  probe?: Probe,
): Promise<void> {
  if (verifies) return verify(format, io);
  const progress = new Progress(io);
  progress.show("trying each backend", true);
  let found: Examination;
  try {
    found = await examine(process.cwd(), probe);
  } finally {
    progress.clear();
  }
  io.stdout.write(withFactsFirst(examinationDocument(found), examinationFacts(found), format, io));
  if (!found.backends.some(({ works }) => works))
    throw new RematError("NO_BACKEND", "no backend works on this machine. The table above shows how to fix each one.");
}

async function verify(format: OutputFormat, io: ConsoleIo): Promise<void> {
  const progress = new Progress(io);
  progress.show("hashing what was built", true);
  let found: Verification;
  try {
    found = await verifyLoadedFiles(process.cwd(), { ...process.env, ...io.env });
  } finally {
    progress.clear();
  }
  io.stdout.write(format.write(verificationDocument(found), shapeOf(io)));
  if (countProblems(found) > 0)
    throw new RematError(
      "NATIVE_UNTRUSTED",
      "the native cache differs from what remat built. The lines above name each file. Rebuild it with remat setup native --force.",
    );
}
