import { type LeakReport, LeakWatch, onMarkedPeriod } from "@remat/leaks";
import { type RunningLayers, watchGraphPredictions, watchPredictions, watchRunningLayers } from "@remat/mod-tracker";
import { Guard } from "../../outside/guard.js";
import { beforeProcessEvents } from "../../outside/process-events.js";
import type { LeaksOrder } from "../../program-order.js";
import { SourceLines } from "../source/source-lines.js";
import type { ThreadReporter } from "../thread-reporter.js";

/**
 * A killed thread has no chance to report, so reports are written regularly: by a timer, and from within its own work,
 * since a loop without `await` does not let timers run. Writes are more frequent at first, so that little is missing if
 * the program ends soon, and always take a small share of the time.
 */
const writeEveryMs = 2000;
const firstWriteMs = 100;
const part = 1 / 2;
const writingShare = 0.02;

export interface LeakWatching {
  /** Called when layers models become available. */
  layersLoaded(): void;
  /** Called when converted models become available, with their class. */
  converterLoaded(graphModel: { readonly prototype: object }): void;
}

/** Watches this thread's tensors until its end and reports those that outlived their period. */
export function watchLeaks({ stacks }: LeaksOrder, reporter: ThreadReporter): LeakWatching {
  const lines = new SourceLines();
  let layers: RunningLayers | undefined;
  let writtenAt = performance.now();
  const startedAt = writtenAt;
  let untilNext = firstWriteMs;
  const writeIfDue = (): void => {
    const now = performance.now();
    if (now - writtenAt < untilNext) return;
    tell(watch.reportSoFar());
    writtenAt = performance.now();
    const often = Math.min(writeEveryMs, Math.max(firstWriteMs, part * (writtenAt - startedAt)));
    untilNext = Math.max(often, (writtenAt - now) / writingShare);
  };
  const closing: (() => void)[] = [];
  const closeAll = (): void => {
    for (const close of closing.splice(0)) close();
  };
  const guard = new Guard((error) => {
    closeAll();
    reporter.broke(error);
  });
  const watch: LeakWatch = new LeakWatch({
    takeStack: () => lines.takeStack(),
    runningModule: () => layers?.path,
    onTensors: writeIfDue,
    onError: (error) => guard.break(error),
    ...(stacks !== undefined && { stacks }),
  });
  const predicted = guard.wrap(() => watch.periodOver("predict"));
  closing.push(() => watch.close(), onMarkedPeriod(guard.wrap((kind) => watch.endPeriod(kind))));
  const tell = (report: LeakReport): void => {
    reporter.leaks = report;
    reporter.noteDevice();
    reporter.write();
  };
  const timer = setInterval(guard.wrap(writeIfDue), writeEveryMs);
  timer.unref();
  beforeProcessEvents({
    // An error that a library throws from its own handler of uncaught errors ends the process without an exit event.
    uncaughtExceptionMonitor: guard.wrap(() => tell(watch.report())),
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
