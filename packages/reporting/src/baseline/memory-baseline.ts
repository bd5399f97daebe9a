import { heldByModule, heldPeak } from "@remat/memory";
import { isRecord, parseJsonText, RematError, type Trace } from "@remat/trace";

/** A step's memory, recorded so that later steps can be compared with it. */
export interface BaselineStep {
  /** Identifies the step: its model, how it was recorded, the device and the units. */
  readonly step: string;
  readonly peakBytes: number;
  /** Bytes at the peak, by category. */
  readonly bytesByCategory: Readonly<Record<string, number>>;
  /** Bytes at the peak, by fully qualified name of the module. Nested modules are included. */
  readonly bytesByModule: Readonly<Record<string, number>>;
}

/** Steps by name. */
export type MemoryBaseline = Readonly<Record<string, BaselineStep>>;

const schema = "memory-baseline/1";

/** Returns a step's peak memory in the form stored in a baseline. */
export function baselineStep(trace: Trace): BaselineStep {
  const peak = heldPeak(trace);
  const { framework, backend, allocationUnitBytes, step, model } = trace.header;
  return {
    // Keras numbers unnamed models across the whole process.
    step: JSON.stringify({
      model: model?.replace(/_?(?<!\d)\d+$/, ""),
      framework,
      backend,
      allocationUnitBytes,
      ...step,
    }),
    peakBytes: peak.peakBytes,
    bytesByCategory: { ...peak.bytesByCategory } as Record<string, number>,
    bytesByModule: Object.fromEntries(heldByModule(trace, peak)),
  };
}

/** Returns a baseline as the text of its file. Equal baselines give equal text. */
export function writeMemoryBaseline(baseline: MemoryBaseline): string {
  const models = Object.fromEntries(Object.entries(baseline).sort(([a], [b]) => (a < b ? -1 : 1)));
  return `${JSON.stringify({ schema, models }, undefined, 2)}\n`;
}

/**
 * Reads a baseline from the text of its file.
 *
 * @throws RematError `BASELINE` if the file is not a baseline; the message names the field
 */
export function readMemoryBaseline(text: string): MemoryBaseline {
  let json: unknown;
  try {
    json = parseJsonText(text);
  } catch (cause) {
    throw refusal(`not JSON (${(cause as Error).message})`, cause);
  }
  const { schema: found, models } = (json ?? {}) as { schema?: unknown; models?: unknown };
  if (found !== schema) throw refusal(`expected "schema": "${schema}", found ${excerpt(found)}`);
  if (!isRecord(models)) throw refusal('expected an object "models"');
  for (const [name, entry] of Object.entries(models)) checkStep(JSON.stringify(name), entry);
  return models as MemoryBaseline;
}

/** Number of characters to quote of an invalid field. */
const mostShown = 60;

function checkStep(where: string, value: unknown): void {
  const wrong = (field: string, expected: string, found: unknown): RematError =>
    refusal(`${where}${field}: expected ${expected}, found ${excerpt(found)}`);
  if (!isRecord(value)) throw wrong("", "step, peakBytes, bytesByCategory and bytesByModule", value);
  const { step, peakBytes, bytesByCategory, bytesByModule } = value;
  if (typeof step !== "string" || !isSettings(step)) throw wrong(".step", "the settings of a step, as JSON", step);
  if (!isBytes(peakBytes)) throw wrong(".peakBytes", "a number of bytes", peakBytes);
  for (const [field, of] of Object.entries({ bytesByCategory, bytesByModule })) {
    if (!isRecord(of)) throw wrong(`.${field}`, "numbers of bytes by name", of);
    for (const [name, bytes] of Object.entries(of))
      if (!isBytes(bytes)) throw wrong(`.${field}[${excerpt(name)}]`, "a number of bytes", bytes);
  }
}

const isBytes = (bytes: unknown): boolean => Number.isSafeInteger(bytes) && (bytes as number) >= 0;

/** Returns whether a text is JSON of the settings that distinguish steps. */
function isSettings(step: string): boolean {
  try {
    return isRecord(parseJsonText(step));
  } catch {
    return false;
  }
}

function excerpt(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > mostShown ? `${text.slice(0, mostShown)}…` : text;
}

function refusal(detail: string, cause?: unknown): RematError {
  return new RematError("BASELINE", `baseline: ${detail}. Write it again with remat check … --update.`, { cause });
}
