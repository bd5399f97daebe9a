import { type FitAnswer, type FitUnit, fitUnitBatch, type StepsToFit } from "@remat/fit";
import type { FitInFleetOptions } from "@remat/fit/bullmq";
import { type FitInWorkersOptions, type FitProgress, fitInWorkers, UnitCache } from "@remat/fit/node";
import { contentKey } from "./content-key.js";
import { fitWorkerFile } from "./fit-worker-file.js";
import { fleetFilesOf } from "./fleet-files.js";
import type { FitJob } from "./steps-of-job.js";

export interface FindAnswersOptions extends Pick<FitInWorkersOptions, "signal" | "onAnswer"> {
  readonly job: FitJob;
  readonly steps: StepsToFit;
  /** The server of a fleet. Undefined: local threads compute the answers. */
  readonly engine: string | undefined;
  /** Number of threads. */
  readonly workers: number;
  /** The folder of a cache. */
  readonly cache: string | undefined;
  /** Reports progress. */
  readonly onProgress: (text: string) => void;
  /** Called once for each problem to report before the answer: no worker is available, or results cannot be cached. */
  readonly onNotice: (text: string) => void;
}

/** Computes answers for units in local threads or in a fleet, with the same results. */
export async function findAnswers(
  units: readonly FitUnit[],
  { job, steps, engine, workers, cache: folder, signal, onAnswer, onProgress, onNotice }: FindAnswersOptions,
): Promise<readonly (FitAnswer | undefined)[]> {
  const files = folder === undefined && engine === undefined ? undefined : fleetFilesOf(job);
  const key = files === undefined ? "" : contentKey(files);
  const onRejected = (why: string): void => onNotice(`rejected an answer, which is computed again: ${why}`);
  const given = {
    signal,
    onAnswer,
    cache:
      folder === undefined
        ? undefined
        : new UnitCache(
            folder,
            key,
            (why) =>
              onNotice(
                `--cache ${folder} cannot be written (${why}): results are not stored, and the next search computes them again`,
              ),
            onRejected,
          ),
  };
  if (engine === undefined)
    return fitInWorkers(units, {
      ...given,
      workers,
      file: fitWorkerFile,
      workerData: job,
      fitHere: (unit, onTried) => fitUnitBatch(unit, steps, onTried),
      onProgress: (progress) => onProgress(describe(progress)),
    });
  let isTold = false;
  return inFleet(units, {
    ...given,
    url: engine,
    files,
    contentKey: key,
    onRejected,
    onProgress(progress) {
      const { workers: processes } = progress;
      if (processes === 0 && !isTold)
        onNotice("no workers are connected yet: start remat fit --serve with the same address and the same files");
      isTold ||= processes === 0;
      onProgress(`${describe(progress)}; ${processes} ${processes === 1 ? "process" : "processes"}`);
    },
  });
}

/** BullMQ is loaded only if a fleet is used. */
async function inFleet(
  units: readonly FitUnit[],
  options: FitInFleetOptions,
): Promise<readonly (FitAnswer | undefined)[]> {
  const { fitInFleet } = await import("@remat/fit/bullmq");
  return fitInFleet(units, options);
}

function describe({ done, units, unit: { configuration }, batch }: FitProgress): string {
  const at = `${configuration.device}, ${configuration.way}${batch === undefined ? "" : `, batch ${batch}`}`;
  return `${done} of ${units} ways; ${at}; Ctrl-C takes the best`;
}
