import type { TraceDocument } from "../document/trace-document.js";
import type { Action } from "../state/action.js";
import type { Command } from "../state/command.js";
import type { Host } from "./host.js";
import { openTargets } from "./open-targets.js";
import { ViewWorkRunner } from "./view-work-runner.js";

/** Runs the commands of the app's steps and dispatches their results. */
export class CommandRunner {
  readonly works: ViewWorkRunner;
  /** Resolves when the last requested targets are open or have failed. */
  opening: Promise<void> = Promise.resolve();
  private stopOpening = new AbortController();
  private stopJudging = new AbortController();
  /** Resolves when the full verdict on the shown step is known. */
  judging: Promise<void> = Promise.resolve();
  private readonly host: Host;
  private readonly dispatch: (action: Action) => void;

  constructor(host: Host, dispatch: (action: Action) => void) {
    this.host = host;
    this.dispatch = dispatch;
    this.works = new ViewWorkRunner({
      planTimeMs: host.planTimeMs,
      answerWhatIfs: host.answerWhatIfs,
      answer: (view, answer) => dispatch({ kind: "answer", view, answer }),
    });
  }

  run(command: Command): void {
    const { host } = this;
    switch (command.kind) {
      case "open":
        this.stopOpening = new AbortController();
        this.opening = openTargets(command, host, this.dispatch, this.stopOpening.signal);
        return;
      case "stopOpening":
        return this.stopOpening.abort();
      case "listEntries":
        return this.dispatch({ kind: "entries", entries: host.startEntries() });
      case "work":
        return this.works.begin(command.view, command.work);
      case "stopWork":
        return this.works.stop(command.view, command.work);
      case "judge":
        this.stopJudging.abort();
        this.stopJudging = new AbortController();
        this.judging = this.judge(command.document, this.stopJudging.signal);
        return;
      case "stopAllWork":
        return this.works.stopAll();
      case "writeFile":
        return this.writeFile(command.name, command.text);
      case "copy":
        return host.copy(command.text);
      case "saveView":
        return host.saveView(command.path, command.title, command.saved);
      case "saveTheme":
        return host.saveTheme(command.theme);
      case "redraw":
        return host.redraw();
      case "suspend":
        return host.suspend();
      case "quit":
        this.stopJudging.abort();
        return host.quit();
    }
  }

  /** If there is no further verdict, the immediate one stays. */
  private async judge(document: TraceDocument, signal: AbortSignal): Promise<void> {
    const verdict = await document.atHand.judge?.(document.device, signal).catch(() => undefined);
    if (verdict !== undefined && !signal.aborted) this.dispatch({ kind: "judged", document, verdict });
  }

  private writeFile(name: string, text: string): void {
    let path: string;
    try {
      path = this.host.writeFile(name, text);
    } catch (error) {
      return this.dispatch({ kind: "notWritten", name, reason: (error as Error).message });
    }
    this.dispatch({ kind: "written", path });
  }
}
