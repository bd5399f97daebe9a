import { openDispatchMode } from "@remat/dispatch-hook";
import { type ModelWatch, watchModels } from "@remat/mod-tracker";
import type { RecordOrder } from "../../program-order.js";
import { SourceLines } from "../source/source-lines.js";
import type { ThreadReporter } from "../thread-reporter.js";
import { HeldStorages } from "./held-storages.js";
import { ProgramRecorder } from "./program-recorder.js";
import { reportHeapLimit } from "./report-heap-limit.js";

export interface ProgramRecording {
  /** From here on there can be models. */
  layersLoaded(): void;
}

/** Records the first steps of each model and optimizer of this thread, then leaves the engine, and tfjs-layers, as they were. */
export function recordProgram(order: RecordOrder, reporter: ThreadReporter): ProgramRecording {
  let watch: ModelWatch | undefined;
  const held = new HeldStorages();
  const lines = new SourceLines();
  const recorder = new ProgramRecorder(order, reporter, () => watch, held, lines);
  const closeHeld = openDispatchMode(held);
  const close = openDispatchMode(recorder);
  const end = () => {
    recorder.end();
    close();
    closeHeld();
    watch?.close();
    process.off("exit", end);
  };
  recorder.whenOver = end;
  reportHeapLimit(reporter);
  process.on("uncaughtExceptionMonitor", (error) => recorder.failed(error, lines.ofError(error)));
  process.on("exit", end);
  process.on("exit", () => reporter.end());
  return { layersLoaded: () => (watch = watchModels()) };
}
