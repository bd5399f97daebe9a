import type { Verdict } from "@remat/reporting/verdict";
import { readTrace } from "@remat/trace";
import { isStandardOutput, openInput } from "@remat/trace/files";
import { modelOptionsOf } from "../model-options.js";
import { modelSource } from "../model-source.js";
import { pricingOf } from "../pricing-options.js";
import { type GivenVerdict, giveVerdict } from "../verdict/give-verdict.js";

/**
 * Returns the verdict on a step that a program ran here. Its next command reads `path`, where the trace was written.
 */
export async function judgeRecorded(file: string, path: string): Promise<Verdict | undefined> {
  const trace = await readTrace(openInput(file));
  const source = modelSource(file);
  const recorded: GivenVerdict = {
    ...{ target: path, source, typedOptions: {}, step: modelOptionsOf({}), units: "auto" },
    pricing: pricingOf({}),
  };
  const given = isStandardOutput(path) ? { ...recorded, command: undefined } : recorded;
  return giveVerdict(trace, given, { show: () => undefined });
}
