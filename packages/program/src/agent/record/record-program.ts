import { openDispatchMode } from "@remat/dispatch-hook";
import { type ModelWatch, watchModels } from "@remat/mod-tracker";
import type { RecordOrder } from "../../program-order.js";
import type { ThreadReporter } from "../thread-reporter.js";
import { HeldStorages } from "./held-storages.js";
import { ProgramRecorder } from "./program-recorder.js";

export interface ProgramRecording {
  /** From here on there can be models. */
  layersLoaded(): void;
}

/** Records the first steps of each model and optimizer of this thread, then leaves the engine, and tfjs-layers, as they were. */
export function recordProgram(order: RecordOrder, reporter: ThreadReporter): ProgramRecording {
  let watch: ModelWatch | undefined;
  const held = new HeldStorages();
  const recorder = new ProgramRecorder(order, reporter, () => watch, held);
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
  process.on("exit", end);
  return { layersLoaded: () => (watch = watchModels()) };
}
