import { formatMs } from "./format-quantity.js";
import type { DeviceToFit } from "./verdict/device-to-fit.js";
import { judgeStep, type StepMemory } from "./verdict/judge-memory.js";
import type { ViewTable } from "./view-table.js";

/** A hypothetical step, and the device that it is judged for. */
export interface WhatIfStep extends StepMemory {
  /** Time of the step in milliseconds. Undefined if unknown. */
  readonly stepMs: number | undefined;
  readonly device: DeviceToFit;
  /** The reason why the step uses more memory although less was expected. */
  readonly reason?: string | undefined;
}

/** A hypothetical change: the verdict on the changed step, or the reason why none exists. */
export interface WhatIfRow {
  /** The change to the current step. */
  readonly question: string;
  /**
   * The verdict in one line: the peak, whether it fits, the time, and the reason if it uses more memory than expected.
   * If the change was rejected, the reason and what to do.
   */
  readonly answer: string;
  /** For an answered question, only the reason for using more memory. */
  readonly reason?: string | undefined;
  /** Peak memory in bytes. Undefined if the change was rejected. */
  readonly peakBytes: number | undefined;
  /** True if the step fits. Undefined if the device's memory size is unknown. */
  readonly fits: boolean | undefined;
  readonly stepMs: number | undefined;
}

/** The name of the unchanged step. */
export const presentQuestion = "as it is";

/** Answers a question with the memory and time of the changed step. */
export function answeredWhatIf(question: string, { device, stepMs, reason, ...memory }: WhatIfStep): WhatIfRow {
  // Rows repeat the device, so they do not repeat that it is the default.
  const { isDefault: _, ...shown } = device;
  const { peakBytes, fits, headline } = judgeStep(memory, { device: shown });
  const told = [headline, ...(stepMs === undefined ? [] : [`step ${formatMs(stepMs)}`]), ...(reason ? [reason] : [])];
  return { question, answer: told.join("; "), peakBytes, fits, stepMs, ...(reason !== undefined && { reason }) };
}

/** Returns a row for a question that cannot be answered, with the reason. */
export function refusedWhatIf(question: string, reason: string): WhatIfRow {
  return { question, answer: reason, peakBytes: undefined, fits: undefined, stepMs: undefined };
}

/** Returns the answers as a table for export. */
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
