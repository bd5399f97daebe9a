import { formatMs } from "./format-quantity.js";
import type { DeviceToFit } from "./verdict/device-to-fit.js";
import { judgeStep, type StepMemory } from "./verdict/judge-memory.js";
import type { ViewTable } from "./view-table.js";

/** A step as it would be, and for which device it is judged. */
export interface WhatIfStep extends StepMemory {
  /** Undefined where nobody says. */
  readonly stepMs: number | undefined;
  readonly device: DeviceToFit;
  /** Why it holds more where one would expect less. */
  readonly reason?: string | undefined;
}

/** What would be with something else: the verdict on that step, or why there is none. */
export interface WhatIfRow {
  /** What is other than in the step as it is. */
  readonly question: string;
  /** The verdict's line: peak, whether it fits, time, and why more is held where one would expect less; of what is refused, why, and what to do. */
  readonly answer: string;
  /** Of what is answered, the last of that alone. */
  readonly reason?: string | undefined;
  /** Undefined of what is refused. */
  readonly peakBytes: number | undefined;
  /** Undefined where nobody says how much memory the device has. */
  readonly fits: boolean | undefined;
  readonly stepMs: number | undefined;
}

/** What the step as it is, is called. */
export const presentQuestion = "as it is";

/** Returns the answer to a question: what the step that is asked for holds and takes. */
export function answeredWhatIf(question: string, { device, stepMs, reason, ...memory }: WhatIfStep): WhatIfRow {
  const { peakBytes, fits, facts } = judgeStep(memory, { device });
  const told = [facts[0], ...(stepMs === undefined ? [] : [`step ${formatMs(stepMs)}`]), ...(reason ? [reason] : [])];
  return { question, answer: told.join("; "), peakBytes, fits, stepMs, ...(reason !== undefined && { reason }) };
}

/** Returns the answer to a question that cannot be answered, with the reason. */
export function refusedWhatIf(question: string, reason: string): WhatIfRow {
  return { question, answer: reason, peakBytes: undefined, fits: undefined, stepMs: undefined };
}

/** Returns the answers as an export holds them. */
export function whatIfTable(title: string, rows: readonly WhatIfRow[]): ViewTable {
  return {
    title: `What if, of ${title}`,
    columns: ["whatIf", "peakBytes", "fits", "stepMs", "answer"],
    rows: rows.map(({ question, peakBytes, fits, stepMs, answer }) => [
      question,
      peakBytes,
      fits === undefined ? undefined : String(fits),
      stepMs,
      answer,
    ]),
  };
}
