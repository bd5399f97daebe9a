// Runs in a thread that judges an opened step.
import { parentPort, workerData } from "node:worker_threads";
import { Trace, type TraceParts } from "@remat/trace";
import { type JudgingRequest, judgeOpened, type OpenedStep } from "./judge-opened.js";

// This file is only run by `new Worker`.
if (parentPort !== null) {
  const { step, typed } = workerData as JudgingRequest;
  const opened: OpenedStep = {
    trace: new Trace(step.trace as TraceParts),
    planned: step.planned === undefined ? undefined : new Trace(step.planned as TraceParts),
    earlyReleasePeakBytes: step.earlyReleasePeakBytes as number | undefined,
  };
  parentPort.postMessage(await judgeOpened(opened, typed, { show() {} }));
}
