import type { HeldPeak } from "@remat/memory";
import type { Trace } from "@remat/trace";
import type { ModelOptions } from "../model-options.js";
import { isOf, type ModelSource } from "../model-source.js";
import type { Progress } from "../progress.js";
import { releasedOnce } from "../trace-once.js";

/** A model, and how its step is run. */
export interface StepToRelease {
  readonly source: ModelSource;
  readonly options: ModelOptions;
  readonly updateInBackward?: boolean | undefined;
}

/**
 * Returns the memory of a trace's step with `--early-release`, or undefined for a recorded run, which cannot be
 * re-executed.
 */
export async function predictEarlyRelease(
  { header: { backend } }: Trace,
  { source, options, updateInBackward = false }: StepToRelease,
  progress: Pick<Progress, "show">,
): Promise<HeldPeak | undefined> {
  if (!isOf(source, "model")) return undefined;
  const { request, ...files } = options;
  // The backend that was chosen, if none was requested.
  const chosen = backend as typeof request.backend;
  const asked = { request: { ...request, backend: request.backend ?? chosen }, ...files };
  return releasedOnce(source, asked, updateInBackward, progress);
}
