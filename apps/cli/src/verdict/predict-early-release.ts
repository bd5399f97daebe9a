import type { HeldPeak } from "@remat/memory";
import type { Trace } from "@remat/trace";
import { loadModel } from "../load-model.js";
import { parseModelOptions } from "../model-options.js";
import { isOf } from "../model-source.js";
import type { Progress } from "../progress.js";
import type { Given } from "./next-command.js";

/** Returns what the step of which this is a trace holds with `--early-release`; undefined of a recorded one, which cannot be taken again. */
export async function predictEarlyRelease(
  { header: { backend } }: Trace,
  { source, options }: Pick<Given, "source" | "options">,
  progress: Pick<Progress, "show">,
): Promise<HeldPeak | undefined> {
  if (!isOf(source, "model")) return undefined;
  const { predictReleasedPeak } = await import("@remat/checkpoint/predict");
  const { name } = source;
  const { request, data, layers } = parseModelOptions(options);
  const model = await loadModel({ ...source, data, layers });
  const what = `tracing ${name} with early release`;
  progress.show(what, true);
  return predictReleasedPeak(
    model,
    {
      ...request,
      name,
      // That which was chosen, where none was asked for.
      ...(backend !== undefined && { backend: backend as NonNullable<typeof request.backend> }),
      onProgress: (module) => progress.show(`${what}: ${module}`),
    },
    { updateInBackward: options["updateInBackward"] === true },
  );
}
