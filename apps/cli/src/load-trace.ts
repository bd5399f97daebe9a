import { RematError, type Trace, truncationCause, truncationNote } from "@remat/trace";
import type { ReadRunOptions } from "./importers/importer.js";
import { type ModelOptions, optionOfField } from "./model-options.js";
import { importerOf, isOf, type ModelSource } from "./model-source.js";
import type { Progress } from "./progress.js";
import { typedTarget } from "./standard-input.js";
import { traceOnce } from "./trace-once.js";
import { UsageError } from "./usage-error.js";

/** Reports loading progress, and problems with the file. */
export type Loading = Pick<Progress, "show"> & Partial<Pick<Progress, "warn">>;

/**
 * Returns the trace that MODEL names, or a trace of a training step of the model that it names. With `damaged: "keep"`,
 * a truncated or damaged trace is read up to the damage, with a warning. Otherwise it is rejected, because a plan or a
 * check of a part would be wrong.
 *
 * @throws RematError `TRACE_CUT_SHORT`
 */
export async function loadTrace(
  source: ModelSource,
  options: ModelOptions,
  progress: Loading,
  reading: Pick<ReadRunOptions, "damaged" | "signal"> = {},
): Promise<Trace> {
  const { name, path } = source;
  if (isOf(source, "model")) return traceOnce(source, options, progress);
  if (isOf(source, "run")) {
    refuseToChange(source, options);
    const onProgress = (bytes: number): void => progress.show(`reading ${name}: ${(bytes / 1e6).toFixed(0)} MB`);
    const trace = await importerOf(source).read(path, { ...reading, onProgress });
    checkWhole(trace, path, reading.damaged === "keep");
    if (trace.truncated !== undefined) progress.warn?.(`${typedTarget(path)}: ${truncationNote(trace)}.`);
    return inUnits(trace, options);
  }
  if (isOf(source, "graph"))
    throw new RematError(
      "MODEL_GRAPH",
      `${path}: this is a graph file, which only remat plan can read. Run remat plan, or name a model or a trace.`,
    );
  if (isOf(source, "compiled"))
    throw new RematError(
      "MODEL_COMPILED",
      `${path}: these are graphs of a compiled model, which only remat memory and remat plan can read. Run one of these commands, or name a model or a trace.`,
    );
  throw new RematError(
    "MODEL_PLAN",
    `${path}: this is a plan, which only remat report and remat ui can show. Run one of these commands, or name a model or a trace.`,
  );
}

function checkWhole(trace: Trace, path: string, takesPart: boolean): void {
  const cause = truncationCause(trace);
  if (cause === undefined || (takesPart && trace.ops.count > 0)) return;
  const next =
    trace.ops.count === 0
      ? "No op was recorded before that."
      : "This command needs the whole step; remat memory and remat report show the part before.";
  throw new RematError("TRACE_CUT_SHORT", `${typedTarget(path)}: ${cause}. ${next} Record it again.`);
}

/** Returns the options that also apply to a recorded run. The others describe how to run a step. */
export function optionsForRecorded({ request: { allocationUnitBytes } }: ModelOptions): ModelOptions {
  return { request: { allocationUnitBytes }, data: undefined };
}

/** Returns the trace in the requested allocation units. By default it keeps its own. */
function inUnits(trace: Trace, { request: { allocationUnitBytes } }: ModelOptions): Trace {
  return allocationUnitBytes === undefined ? trace : trace.withHeader({ ...trace.header, allocationUnitBytes });
}

/** Rejects options that would have changed a run, since the run has already been recorded. */
function refuseToChange({ name }: ModelSource, { request }: ModelOptions): void {
  const { allocationUnitBytes: _, ...changing } = optionOfField;
  const field = (Object.keys(changing) as (keyof typeof changing)[]).find((each) => request[each] !== undefined);
  if (field !== undefined)
    throw new UsageError(
      `--${changing[field]} cannot change ${name}, which is a recorded run. Remove it, or name the model instead.`,
    );
}
