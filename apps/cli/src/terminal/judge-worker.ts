// What a thread runs that judges a step that was opened.
import { parentPort, workerData } from "node:worker_threads";
import { Trace, type TraceParts } from "@remat/trace";
import { type JudgingRequest, judgeOpened, type OpenedStep } from "./judge-opened.js";

// The file of a thread: it is run by nothing but `new Worker`.
if (parentPort !== null) {
  const { step, typed } = workerData as JudgingRequest;
  const opened: OpenedStep = {
    trace: new Trace(step.trace as TraceParts),
    planned: step.planned === undefined ? undefined : new Trace(step.planned as TraceParts),
    earlyReleasePeakBytes: step.earlyReleasePeakBytes as number | undefined,
  };
  parentPort.postMessage(await judgeOpened(opened, typed, { show() {} }));
}
