import { type LeakReport, LeakWatch, onMarkedPeriod } from "@remat/leaks";
import { watchPredictions } from "@remat/mod-tracker";
import { SourceLines } from "../source/source-lines.js";
import type { ThreadReporter } from "../thread-reporter.js";

/** A thread that is killed has told what there was until then. */
const writeEveryMs = 2000;

export interface LeakWatching {
  /** From here on there can be models. */
  layersLoaded(): void;
}

/** Watches this thread's tensors until its end, and tells what has outlived its period. */
export function watchLeaks(reporter: ThreadReporter): LeakWatching {
  const lines = new SourceLines();
  const watch = new LeakWatch({ currentSite: () => lines.currentSite() });
  let closePredictions = (): void => {};
  onMarkedPeriod((kind) => watch.endPeriod(kind));
  const tell = (report: LeakReport): void => {
    reporter.leaks = report;
    reporter.write();
  };
  const timer = setInterval(() => tell(watch.report()), writeEveryMs);
  timer.unref();
  process.on("exit", () => {
    clearInterval(timer);
    tell(watch.report());
    closePredictions();
    watch.close();
  });
  return { layersLoaded: () => (closePredictions = watchPredictions(() => watch.periodOver("predict"))) };
}
