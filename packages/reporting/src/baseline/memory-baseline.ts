import { heldByModule, heldPeak } from "@remat/memory";
import { parseJsonText, RematError, type Trace } from "@remat/trace";

/** What a step held once, for later steps to be held against. */
export interface BaselineStep {
  /** Which step it is: of which model, how it was taken, on what, in which units. */
  readonly step: string;
  readonly peakBytes: number;
  /** At the peak. */
  readonly bytesByCategory: Readonly<Record<string, number>>;
  /** At the peak, by fully qualified name, what is in a module included. */
  readonly bytesByModule: Readonly<Record<string, number>>;
}

/** Steps by name. */
export type MemoryBaseline = Readonly<Record<string, BaselineStep>>;

const schema = "memory-baseline/1";

/** Returns what a step holds at its peak, as a baseline keeps it. */
export function baselineStep(trace: Trace): BaselineStep {
  const peak = heldPeak(trace);
  const { framework, backend, allocationUnitBytes, step, model } = trace.header;
  return {
    // Keras counts models that nobody has named, over all of a process.
    step: JSON.stringify({ model: model?.replace(/_?\d+$/, ""), framework, backend, allocationUnitBytes, ...step }),
    peakBytes: peak.peakBytes,
    bytesByCategory: { ...peak.bytesByCategory } as Record<string, number>,
    bytesByModule: Object.fromEntries(heldByModule(trace, peak)),
  };
}

/** Returns a baseline as a file has it, one that does not change where nothing changes. */
export function writeMemoryBaseline(baseline: MemoryBaseline): string {
  const models = Object.fromEntries(Object.entries(baseline).sort(([a], [b]) => (a < b ? -1 : 1)));
  return `${JSON.stringify({ schema, models }, undefined, 2)}\n`;
}

/**
 * Returns the baseline that a file has.
 *
 * @throws RematError `BASELINE` for what is none
 */
export function readMemoryBaseline(text: string): MemoryBaseline {
  let json: unknown;
  try {
    json = parseJsonText(text);
  } catch (cause) {
    throw refusal(`not JSON (${(cause as Error).message})`, cause);
  }
  const { schema: found, models } = (json ?? {}) as { schema?: unknown; models?: unknown };
  if (found !== schema) throw refusal(`expected "schema": "${schema}", found ${JSON.stringify(found)}`);
  if (!isRecord(models)) throw refusal('expected an object "models"');
  for (const [name, entry] of Object.entries(models))
    if (!isStep(entry))
      throw refusal(`${JSON.stringify(name)}: expected step, peakBytes, bytesByCategory and bytesByModule`);
  return models as MemoryBaseline;
}

function isStep(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { step, peakBytes, bytesByCategory, bytesByModule } = value;
  const isBytes = (bytes: unknown): boolean => typeof bytes === "number" && bytes >= 0;
  return (
    typeof step === "string" &&
    isBytes(peakBytes) &&
    [bytesByCategory, bytesByModule].every((of) => isRecord(of) && Object.values(of).every(isBytes))
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refusal(detail: string, cause?: unknown): RematError {
  return new RematError("BASELINE", `baseline: ${detail}. Write it anew with remat check --update.`, { cause });
}
