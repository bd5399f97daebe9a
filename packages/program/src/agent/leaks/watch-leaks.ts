import { type LeakReport, LeakWatch, onMarkedPeriod } from "@remat/leaks";
import { type RunningLayers, watchGraphPredictions, watchPredictions, watchRunningLayers } from "@remat/mod-tracker";
import { SourceLines } from "../source/source-lines.js";
import type { ThreadReporter } from "../thread-reporter.js";

/** A thread that is killed has told what there was until then. */
const writeEveryMs = 2000;

export interface LeakWatching {
  /** From here on there can be models. */
  layersLoaded(): void;
  /** And converted ones, of the given class. */
  converterLoaded(graphModel: { readonly prototype: object }): void;
}

/** Watches this thread's tensors until its end, and tells what has outlived its period. */
export function watchLeaks(reporter: ThreadReporter): LeakWatching {
  const lines = new SourceLines();
  let layers: RunningLayers | undefined;
  const watch = new LeakWatch({ currentSite: () => lines.currentSite(), runningModule: () => layers?.path });
  const closing: (() => void)[] = [];
  const predicted = (): void => watch.periodOver("predict");
  onMarkedPeriod((kind) => watch.endPeriod(kind));
  const tell = (report: LeakReport): void => {
    reporter.leaks = report;
    reporter.noteDevice();
    reporter.write();
  };
  const timer = setInterval(() => tell(watch.report()), writeEveryMs);
  timer.unref();
  process.on("exit", () => {
    clearInterval(timer);
    tell(watch.report());
    for (const close of closing) close();
    watch.close();
  });
  return {
    layersLoaded() {
      layers = watchRunningLayers();
      closing.push(watchPredictions(predicted), layers.close);
    },
    converterLoaded: (graphModel) => void closing.push(watchGraphPredictions(graphModel, predicted)),
  };
}
