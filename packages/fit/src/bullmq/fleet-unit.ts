import { createHash } from "node:crypto";
import { RematError } from "@remat/trace";
import type { FitUnit } from "../fit-unit.js";

/** What is sent to a fleet: a unit, and the files that it is a function of. */
export interface FleetUnit {
  /** Which files, as a worker is told: plain data. */
  readonly files: unknown;
  /** Of their content, so that a worker that has others refuses. */
  readonly contentKey: string;
  readonly unit: FitUnit;
}

/** The queue that units are in, on whatever server. @internal */
export const queueName = "remat-fit";

/** Returns what names a unit in the queue: the same unit of the same content is there once. @internal */
export function fleetId({ contentKey, unit }: Pick<FleetUnit, "contentKey" | "unit">): string {
  return createHash("sha256")
    .update(JSON.stringify([contentKey, unit]))
    .digest("hex");
}

/** Returns the text by which a queue keeps why a unit failed. @internal */
export function writeFailure(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof RematError ? `${error.code}: ${message}` : message;
}

/** Returns the error that a text of `writeFailure`, or of BullMQ itself, tells of. @internal */
export function readFailure(text: string): RematError {
  const [, code, message] = /^([A-Z][A-Z_]+): ([^]*)$/.exec(text) ?? [];
  return code === undefined
    ? new RematError("FIT_FLEET", `a unit failed in the fleet: ${text}. Look at what its workers print.`)
    : new RematError(code, message);
}
