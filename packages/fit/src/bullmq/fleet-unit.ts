import { createHash } from "node:crypto";
import { RematError } from "@remat/trace";
import * as v from "valibot";
import type { FitUnit } from "../fit-unit.js";
import { checkSchema } from "../node/check-schema.js";
import { unitSchema } from "../node/fit-schemas.js";

/** What is sent to a fleet: a unit, and the files that it is a function of. */
export interface FleetUnit {
  /** The files by the hashes of their content, as plain data: a worker that was not given them refuses the job. Never a path. */
  readonly files: unknown;
  /** Of their content, so that a worker that has others refuses. */
  readonly contentKey: string;
  readonly unit: FitUnit;
}

const fleetUnitSchema = v.strictObject({
  files: v.unknown(),
  contentKey: v.pipe(v.string(), v.maxLength(128)),
  unit: unitSchema,
});

/**
 * Returns a job of the queue if it has the shape of one.
 *
 * @throws RematError `FIT_FLEET` naming the field that is wrong
 * @internal
 */
export function readFleetUnit(data: unknown): FleetUnit {
  return checkSchema(fleetUnitSchema, data, { code: "FIT_FLEET", what: "a job of the queue" }) as FleetUnit;
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
