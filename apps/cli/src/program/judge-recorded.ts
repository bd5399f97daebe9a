import type { Verdict } from "@remat/reporting/verdict";
import { readTrace } from "@remat/trace";
import { isStandardOutput, openInput } from "@remat/trace/files";
import { modelSource } from "../model-source.js";
import { parsePricing } from "../pricing-options.js";
import { giveVerdict } from "../verdict/give-verdict.js";

/**
 * Returns the verdict on a step that a program has taken here; what to type next reads `path`, to which its trace was written.
 */
export async function judgeRecorded(file: string, path: string): Promise<Verdict | undefined> {
  const trace = await readTrace(openInput(file));
  const source = modelSource(file);
  const recorded = { target: path, source, options: {}, pricing: parsePricing({}) };
  const given = isStandardOutput(path) ? { ...recorded, command: undefined } : recorded;
  return giveVerdict(trace, given, { show: () => undefined });
}
