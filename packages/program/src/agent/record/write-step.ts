import { withNotes, writeTrace } from "@remat/trace";
import { modelNames } from "../../model-names.js";
import type { RecordOrder } from "../../program-order.js";
import type { RecordedStep } from "../../thread-report.js";
import type { ThreadReporter } from "../thread-reporter.js";
import type { StepGroup } from "./step-group.js";

let written = 0;

/**
 * Writes the step that represents a group to a file synchronously, since the thread may be about to end. Returns
 * undefined if it cannot be written.
 */
export function writeStep(
  reporter: ThreadReporter,
  group: StepGroup,
  optimizer: object | undefined,
  { memoryBytes }: Pick<RecordOrder, "memoryBytes">,
): RecordedStep | undefined {
  const { trace, alike, peakBytes, mostBytes, stepMs } = group.summarize();
  const file = reporter.io.pathFor(`${written++}.remat.jsonl`);
  const notes = [
    `step ${group.steps} of an unmodified program; times are medians of ${alike} steps that ran these ops`,
  ];
  const model = modelNames(trace);
  const header = {
    ...trace.header,
    ...(trace.header.device === "cpu" && memoryBytes !== undefined && { deviceMemoryBytes: memoryBytes }),
    ...(model !== undefined && { model }),
  };
  if (file === undefined || !reporter.io.writeChunks(file, writeTrace(withNotes(trace.withHeader(header), notes))))
    return undefined;
  return {
    file,
    model,
    optimizer: nameOfOptimizer(optimizer),
    steps: group.steps,
    alike,
    ops: trace.ops.count,
    peakBytes,
    mostBytes,
    stepMs,
  };
}

/** Returns the class name of an optimizer, as Keras names it. */
export function nameOfOptimizer(optimizer: object | undefined): string | undefined {
  const name = optimizer?.constructor as { readonly className?: string; readonly name?: string } | undefined;
  return name?.className ?? name?.name;
}
