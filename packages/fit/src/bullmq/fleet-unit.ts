import { createHash } from "node:crypto";
import { type ErrorCode, RematError } from "@remat/trace";
import * as v from "valibot";
import type { FitUnit } from "../fit-unit.js";
import { checkSchema } from "../node/check-schema.js";
import { unitSchema } from "../node/fit-schemas.js";

/** A job of a fleet: a unit, and the files that determine its answer. */
export interface FleetUnit {
  /**
   * The files, identified by the hashes of their content. This is plain data without paths. A worker rejects the job if
   * it was not started with the same files.
   */
  readonly files: unknown;
  /** A hash of the files' content. A worker with other content rejects the job. */
  readonly contentKey: string;
  readonly unit: FitUnit;
}

const fleetUnitSchema = v.strictObject({
  files: v.unknown(),
  contentKey: v.pipe(v.string(), v.maxLength(128)),
  unit: unitSchema,
});

/**
 * Returns a value from the queue as a job, if it has the shape of a job.
 *
 * @throws RematError `FIT_FLEET`, with the name of the wrong field
 * @internal
 */
export function readFleetUnit(data: unknown): FleetUnit {
  return checkSchema(fleetUnitSchema, data, { code: "FIT_FLEET", what: "a job of the queue" }) as FleetUnit;
}

/**
 * The name of the queue of units on every server.
 *
 * @internal
 */
export const queueName = "remat-fit";

/**
 * Returns the name of a unit in the queue. The same unit with the same content has the same name, so it is queued once.
 *
 * @internal
 */
export function fleetId({ contentKey, unit }: Pick<FleetUnit, "contentKey" | "unit">): string {
  return createHash("sha256")
    .update(JSON.stringify([contentKey, unit]))
    .digest("hex");
}

/**
 * Returns the text with which a queue stores the failure of a unit.
 *
 * @internal
 */
export function writeFailure(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof RematError ? `${error.code}: ${message}` : message;
}

/**
 * Returns the error for a text of `writeFailure` or of BullMQ itself.
 *
 * @internal
 */
export function readFailure(text: string): RematError {
  const [, code, message] = /^([A-Z][A-Z_]+): ([^]*)$/.exec(text) ?? [];
  return code === undefined || message === undefined
    ? new RematError("FIT_FLEET", `a worker failed at a task of the search: ${text}. Check the workers' output.`)
    : new RematError(code as ErrorCode, message);
}
