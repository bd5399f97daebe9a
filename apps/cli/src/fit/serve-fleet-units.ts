import { existsSync } from "node:fs";
import { fitUnitBatch } from "@remat/fit";
import { type FleetWorker, serveFleet, type UnitAnswerer } from "@remat/fit/bullmq";
import { UnitThread } from "@remat/fit/node";
import { contentKey } from "./content-key.js";
import { fitWorkerFile } from "./fit-worker-file.js";
import { type FleetFiles, fleetFilesOf, type GivenFiles } from "./fleet-files.js";
import { type FitJob, stepsOfJob } from "./steps-of-job.js";

/** Takes units from the queue of a fleet until it is closed, for the files that this worker was given. */
export function serveFleetUnits(
  url: string,
  {
    given,
    workers,
    onAnswered,
  }: { readonly given: GivenFiles; readonly workers: number; readonly onAnswered: (answered: string) => void },
): Promise<FleetWorker> {
  return serveFleet(url, {
    workers,
    contentKey: (files) => contentKey(keyedFiles(given, files)),
    answerer(files) {
      const job = given.jobOf(files);
      return existsSync(fitWorkerFile) ? new UnitThread(fitWorkerFile, job) : answererHere(job);
    },
    onAnswered: ({ unit: { configuration } }) => onAnswered(`${configuration.device}, ${configuration.way}`),
  });
}

/** Returns the hashes of the files on this machine, which are compared with those of the search. */
function keyedFiles(given: GivenFiles, files: unknown): FleetFiles {
  return fleetFilesOf(given.jobOf(files));
}

function answererHere(job: FitJob): UnitAnswerer {
  const steps = stepsOfJob(job, { show() {} });
  return { answer: async (unit) => fitUnitBatch(unit, await steps), stop: async () => undefined };
}
