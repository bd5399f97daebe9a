import { isDeepStrictEqual } from "node:util";
import { RematError } from "@remat/trace";
import type { FitAnswer, FitConfiguration, FitRow, FitUnit } from "../fit-unit.js";
import { samplesPerSecondOf } from "../search/tried-steps.js";
import { microBatchesOf } from "../ways/sharded.js";
import { checkSchema } from "./check-schema.js";
import { answerSchema } from "./fit-schemas.js";

/**
 * Returns an answer from a thread, a cache or a fleet, if it is valid for this unit: it has the shape of an answer and
 * does not contradict the unit.
 *
 * @throws RematError `FIT_ANSWER`, with the name of the wrong field
 * @internal
 */
export function readAnswer(value: unknown, unit: FitUnit): FitAnswer {
  const answer = checkSchema(answerSchema, value, { code: "FIT_ANSWER", what: "an answer" }) as FitAnswer;
  switch (answer.kind) {
    case "fits":
      checkConfiguration("row.configuration", answer.row.configuration, unit);
      checkRow(answer.row, unit);
      break;
    case "not-fitting":
      checkConfiguration("configuration", answer.configuration, unit);
      checkBatch("smallest.batch", answer.smallest.batch, unit);
      break;
    default:
      checkConfiguration("configuration", answer.configuration, unit);
  }
  return answer;
}

function checkConfiguration(field: string, found: FitConfiguration, { configuration }: FitUnit): void {
  if (!isDeepStrictEqual({ ...found }, { ...configuration }))
    throw wrong(field, `that of the unit, ${JSON.stringify(configuration)}`, found);
}

function checkRow(row: FitRow, unit: FitUnit): void {
  const { batch, peakBytes, libraryBytes = 0, overhead, memoryBytes, microBatches, samplesPerSecond, next } = row;
  checkBatch("row.batch", batch, unit);
  if (memoryBytes !== unit.memoryBytes - libraryBytes)
    throw wrong("row.memoryBytes", `${unit.memoryBytes - libraryBytes}`, memoryBytes);
  if (peakBytes > memoryBytes) throw wrong("row.peakBytes", `at most ${memoryBytes}, since it fits`, peakBytes);
  if (overhead > unit.maxOverhead) throw wrong("row.overhead", `at most ${unit.maxOverhead}`, overhead);
  const passes = microBatchesOf(unit, batch);
  if (microBatches !== passes) throw wrong("row.microBatches", `${passes}`, microBatches);
  const rate = samplesPerSecondOf(unit, row);
  if (samplesPerSecond !== rate) throw wrong("row.samplesPerSecond", `${rate}, from the step's time`, samplesPerSecond);
  if (row.sharding !== undefined && row.sharding.worldSize !== unit.configuration.ranks)
    throw wrong("row.sharding.worldSize", `${unit.configuration.ranks}`, row.sharding.worldSize);
  if (next !== undefined) checkBatch("row.next.batch", next.batch, unit);
}

function checkBatch(field: string, batch: number, { batches }: FitUnit): void {
  if (!batches.includes(batch)) throw wrong(field, "one of the unit's batches", batch);
}

function wrong(field: string, expected: string, found: unknown): RematError {
  return new RematError(
    "FIT_ANSWER",
    `an answer: field '${field}': expected ${expected}; found ${String(JSON.stringify(found)).slice(0, 100)}.`,
  );
}
