// Runs in a worker's thread: units of a sweep.
import { parentPort, workerData } from "node:worker_threads";
import { fitUnitBatch } from "../../src/index.js";
import { serveUnits } from "../../src/node/index.js";
import { type SweepFiles, sweepSteps } from "./sweep.js";

if (parentPort !== null) {
  const steps = sweepSteps(workerData as SweepFiles);
  serveUnits(async (unit, onTried) => fitUnitBatch(unit, steps, onTried));
}
