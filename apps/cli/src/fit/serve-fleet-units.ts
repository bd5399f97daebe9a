import { existsSync } from "node:fs";
import { fitUnitBatch } from "@remat/fit";
import { type FleetWorker, serveFleet, type UnitAnswerer } from "@remat/fit/bullmq";
import { UnitThread } from "@remat/fit/node";
import { contentKey } from "./content-key.js";
import { fitWorkerFile } from "./fit-worker-file.js";
import { type FitJob, stepsOfJob } from "./steps-of-job.js";

/** Takes units of any model from the queue of a fleet until it is closed. */
export function serveFleetUnits(
  url: string,
  { workers, onAnswered }: { readonly workers: number; readonly onAnswered: (answered: string) => void },
): Promise<FleetWorker> {
  return serveFleet(url, {
    workers,
    contentKey: (files) => keyHere(files as FitJob),
    answerer: (files) =>
      existsSync(fitWorkerFile) ? new UnitThread(fitWorkerFile, files) : answererHere(files as FitJob),
    onAnswered: ({ unit: { configuration } }) => onAnswered(`${configuration.device}, ${configuration.way}`),
  });
}

/** Of files that are not here nothing is the same. */
function keyHere(job: FitJob): string {
  try {
    return contentKey(job);
  } catch {
    return "";
  }
}

function answererHere(job: FitJob): UnitAnswerer {
  const steps = stepsOfJob(job, { show() {} });
  return { answer: async (unit) => fitUnitBatch(unit, await steps), stop: async () => undefined };
}
