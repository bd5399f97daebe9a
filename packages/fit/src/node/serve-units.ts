import { parentPort } from "node:worker_threads";
import { RematError } from "@remat/trace";
import type { FitAnswer, FitUnit } from "../fit-unit.js";
import type { UnitOrder, UnitReport } from "./unit-messages.js";

/**
 * Answers the units that `fitInWorkers` sends, one after the other. It does nothing outside of a worker thread.
 *
 * @example
 * serveUnits(async (unit, onTried) => fitUnitBatch(unit, steps, onTried));
 */
export function serveUnits(fitUnit: (unit: FitUnit, onTried: (batch: number) => void) => Promise<FitAnswer>): void {
  const port = parentPort;
  if (port === null) return;
  const tell = (report: UnitReport): void => port.postMessage(report);
  port.on("message", ({ id, unit }: UnitOrder) => {
    fitUnit(unit, (batch) => tell({ id, batch })).then(
      (answer) => tell({ id, answer }),
      (error: unknown) => {
        const code = error instanceof RematError ? error.code : undefined;
        tell({ id, failure: { message: error instanceof Error ? error.message : String(error), code } });
      },
    );
  });
}
