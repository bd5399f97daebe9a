import { type LeakReport, LeakWatch, onMarkedPeriod } from "@remat/leaks";
import { type RunningLayers, watchGraphPredictions, watchPredictions, watchRunningLayers } from "@remat/mod-tracker";
import { Guard } from "../../outside/guard.js";
import { beforeProcessEvents } from "../../outside/process-events.js";
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
  const closing: (() => void)[] = [];
  const closeAll = (): void => {
    for (const close of closing.splice(0)) close();
  };
  const guard = new Guard((error) => {
    closeAll();
    reporter.broke(error);
  });
  const watch = new LeakWatch({
    currentSite: () => lines.currentSite(),
    runningModule: () => layers?.path,
    onError: (error) => guard.break(error),
  });
  const predicted = guard.wrap(() => watch.periodOver("predict"));
  closing.push(() => watch.close(), onMarkedPeriod(guard.wrap((kind) => watch.endPeriod(kind))));
  const tell = (report: LeakReport): void => {
    reporter.leaks = report;
    reporter.noteDevice();
    reporter.write();
  };
  const timer = setInterval(
    guard.wrap(() => tell(watch.report())),
    writeEveryMs,
  );
  timer.unref();
  beforeProcessEvents({
    exit() {
      clearInterval(timer);
      guard.run(() => tell(watch.report()));
      guard.run(closeAll);
      reporter.end();
    },
  });
  return {
    layersLoaded: guard.wrap(() => {
      layers = watchRunningLayers();
      closing.push(watchPredictions(predicted), layers.close);
    }),
    converterLoaded: guard.wrap((graphModel: { readonly prototype: object }) => {
      closing.push(watchGraphPredictions(graphModel, predicted));
    }),
  };
}
