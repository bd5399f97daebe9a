import { existsSync } from "node:fs";
import { answerUsualWhatIfs } from "@remat/fit";
import { type WhatIfRow } from "@remat/reporting";
import { deviceToFit } from "@remat/reporting/verdict";
import { RuntimeSource, type Trace } from "@remat/trace";
import { isOf } from "../model-source.js";
import type { Progress } from "../progress.js";
import { answerWhatIfsOf, whatIfWorkerFile } from "./answer-what-ifs.js";
import { type PresentStepOptions, presentStep } from "./present-step.js";

/** Retracing a step with fewer ops takes no longer than starting a thread. */
const fewestOpsBeside = 2000;

/** Answers the most likely questions about a step. */
export async function usualWhatIfs(
  trace: Trace,
  given: PresentStepOptions,
  progress: Pick<Progress, "show">,
): Promise<readonly WhatIfRow[]> {
  const rows: WhatIfRow[] = [];
  for await (const row of answerUsualWhatIfs(await presentStep(trace, given, progress))) {
    progress.show(`${given.source.name}: what if: ${row.question}`, true);
    rows.push(row);
  }
  return rows;
}

/**
 * Answers the same questions in a thread that `signal` ends, while other work continues. Undefined if a thread is not
 * faster. Also undefined for measured times, because the thread would measure them again.
 */
export function usualWhatIfsBeside(
  trace: Trace,
  { source, options, pricing }: PresentStepOptions,
  signal: AbortSignal,
): Promise<readonly WhatIfRow[]> | undefined {
  const { count, runtimeSource } = trace.ops;
  const isLong = isOf(source, "model") && count >= fewestOpsBeside && !runtimeSource.includes(RuntimeSource.measured);
  if (!isLong || !existsSync(whatIfWorkerFile)) return undefined;
  const rows: WhatIfRow[] = [];
  const { device: pricedFor, isAsked } = pricing;
  const asked = { device: deviceToFit(trace, pricedFor, isAsked), pricedFor, trace, signal };
  return answerWhatIfsOf(options)(source.path, undefined, { ...asked, onRow: (row) => rows.push(row) }).then(
    () => rows,
  );
}
