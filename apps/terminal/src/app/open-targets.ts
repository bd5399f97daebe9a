import type { App } from "./app.js";

/** Progress is shown this often at most. */
const progressMs = 100;

/** Opens what `targets` name, one after the other; what goes wrong is told on the start screen. */
export async function openTargets(app: App, targets: readonly string[]): Promise<void> {
  const { signal } = app.beginOpening();
  app.state.start.error = undefined;
  app.state.plan = undefined;
  app.other = undefined;
  let isFirst = true;
  try {
    for (const target of targets) {
      const opened = await app.host.open(target, { signal, onProgress: progressOf(app, target, signal) });
      if (signal.aborted) return;
      if (opened.kind === "plan") {
        app.state.plan = opened.plan;
        if (!isFirst) app.state.view = "devices";
      } else if (isFirst) {
        app.show(opened.title, opened.path, opened.trace);
        isFirst = false;
      } else {
        app.compareWith(opened.title, opened.trace, opened.path);
        app.state.view = app.wantedView ?? "compare";
      }
    }
    app.state.start.loading = undefined;
    app.state.screen = isFirst ? "plan" : "views";
  } catch (error) {
    if (signal.aborted) return;
    app.state.screen = "start";
    app.state.start.loading = undefined;
    app.state.start.error = (error as Error).message;
  }
  app.changed();
}

/** Shows that `target` is being opened, and returns what tells how far that has come. */
function progressOf(app: App, target: string, signal: AbortSignal): (text: string) => void {
  let toldMs = 0;
  const show = (text: string): void => {
    app.state.screen = "start";
    app.state.start.loading = { title: target, text };
    app.changed();
  };
  show("opening");
  return (text) => {
    const now = performance.now();
    if (signal.aborted || now - toldMs < progressMs) return;
    toldMs = now;
    show(text);
  };
}
