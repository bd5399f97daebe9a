import { openDispatchMode } from "@remat/dispatch-hook";
import type { RecordOrder } from "../../program-order.js";
import type { ThreadReporter } from "../thread-reporter.js";
import { ProgramRecorder } from "./program-recorder.js";

/** Records the first steps of each model and optimizer of this thread, then leaves the engine as it was. */
export function recordProgram(order: RecordOrder, reporter: ThreadReporter): void {
  const recorder = new ProgramRecorder(order, reporter);
  const close = openDispatchMode(recorder);
  const end = () => {
    recorder.end();
    close();
    process.off("exit", end);
  };
  recorder.whenOver = end;
  process.on("exit", end);
}
