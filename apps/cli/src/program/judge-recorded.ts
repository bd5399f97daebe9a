import { createReadStream } from "node:fs";
import { isStandardOutput } from "@remat/output-file";
import { readTrace } from "@remat/trace";
import { modelSource } from "../model-source.js";
import { giveVerdict } from "../verdict/give-verdict.js";
import { thisMachine } from "../verdict/this-machine.js";

/** Returns the verdict on a step that a program has taken here, in one line; what to type next reads `path`, to which its trace was written. */
export async function judgeRecorded(file: string, path: string): Promise<string | undefined> {
  const trace = await readTrace(createReadStream(file));
  const recorded = { target: path, source: modelSource(file), options: {}, device: thisMachine() };
  const given = isStandardOutput(path) ? { ...recorded, command: undefined } : recorded;
  const verdict = await giveVerdict(trace, given, { show: () => undefined });
  return verdict?.sentence;
}
