import { openDispatchMode } from "@remat/dispatch-hook";
import { type ModelWatch, watchModels } from "@remat/mod-tracker";
import { Guard } from "../../outside/guard.js";
import { beforeProcessEvents } from "../../outside/process-events.js";
import type { RecordOrder } from "../../program-order.js";
import { SourceLines } from "../source/source-lines.js";
import type { ThreadReporter } from "../thread-reporter.js";
import { HeldStorages } from "./held-storages.js";
import { ProgramRecorder } from "./program-recorder.js";
import { reportHeapLimit } from "./report-heap-limit.js";

export interface ProgramRecording {
  /** Called when layers models become available. */
  layersLoaded(): void;
}

/** Records the first steps of each model and optimizer of this thread, then restores the engine and tfjs-layers. */
export function recordProgram(order: RecordOrder, reporter: ThreadReporter): ProgramRecording {
  let watch: ModelWatch | undefined;
  const held = new HeldStorages();
  const lines = new SourceLines();
  let close = (): void => {};
  const guard = new Guard((error) => {
    try {
      recorder.close();
    } finally {
      close();
      reporter.broke(error);
    }
  });
  const recorder = new ProgramRecorder(order, { reporter, models: () => watch, held, lines, guard });
  const closeHeld = openDispatchMode(guard.mode(held));
  const closeRecorder = openDispatchMode(guard.mode(recorder));
  close = () => {
    closeRecorder();
    closeHeld();
    watch?.close();
  };
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    recorder.end();
    close();
  };
  recorder.whenOver = end;
  reportHeapLimit(reporter);
  beforeProcessEvents({
    uncaughtExceptionMonitor: guard.wrap((error: unknown) => recorder.failed(error, lines.ofError(error))),
    exit() {
      guard.run(end);
      reporter.end();
    },
  });
  return { layersLoaded: () => void guard.run(() => (watch = watchModels())) };
}
