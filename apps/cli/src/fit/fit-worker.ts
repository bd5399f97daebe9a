// Runs in a thread: computes units one after the other, on the steps of one job.
import { parentPort, workerData } from "node:worker_threads";
import { fitUnitBatch } from "@remat/fit";
import { serveUnits } from "@remat/fit/node";
import { type FitJob, stepsOfJob } from "./steps-of-job.js";

// This file is only run by `new Worker`.
if (parentPort !== null) {
  const steps = stepsOfJob(workerData as FitJob, { show() {} });
  serveUnits(async (unit, onTried) => fitUnitBatch(unit, await steps, onTried));
}
