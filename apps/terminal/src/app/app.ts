import { RematError, type Trace } from "@remat/trace";
import type { StepAtHand } from "../document/step-at-hand.js";
import type { TraceDocument } from "../document/trace-document.js";
import { reduce } from "../reduce/reduce.js";
import type { Action } from "../state/action.js";
import { type AppState, initialState, type ScreenSize } from "../state/app-state.js";
import type { View } from "../state/view.js";
import type { InputEvent } from "../terminal/read-input.js";
import type { ClickTarget } from "../text/drawn.js";
import type { Look } from "../text/look.js";
import { views as allViews } from "../views/views.js";
import { CommandRunner } from "./command-runner.js";
import type { Host } from "./host.js";

/** Options of {@link App}. */
export interface AppOptions {
  readonly host: Host;
  readonly look: Look;
  readonly size: ScreenSize;
  /** The view to begin with. Left out: the last one used. */
  readonly view?: string | undefined;
  /** Left out: all views. */
  readonly views?: readonly View[];
}

/**
 * The running app: keeps the state, passes actions through the reducer and runs the resulting commands. Renderers
 * subscribe to changes.
 */
export class App {
  readonly views: readonly View[];
  /** Runs the commands. */
  readonly runner: CommandRunner;
  private current: AppState;
  private readonly host: Host;
  private readonly listeners = new Set<() => void>();

  constructor({ host, look, size, view, views = allViews }: AppOptions) {
    this.host = host;
    this.views = views;
    this.current = initialState({
      look,
      size,
      device: host.device,
      isDeviceAsked: host.isDeviceAsked ?? false,
      view: view ?? views[0].name,
      wantedView: view,
      entries: host.startEntries(),
    });
    this.runner = new CommandRunner(host, (action) => this.dispatch(action));
  }

  /** Immutable: every action creates a new state. */
  get state(): AppState {
    return this.current;
  }

  /**
   * The document that is shown.
   *
   * @throws RematError `TERMINAL_NO_DOCUMENT`
   */
  get document(): TraceDocument {
    const { run } = this.state;
    if (run === undefined) throw new RematError("TERMINAL_NO_DOCUMENT", "no trace is open. Open a trace first.");
    return run.document;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  dispatch(action: Action): void {
    const { state, commands } = reduce(this.views, this.current, action);
    this.current = state;
    for (const command of commands) this.runner.run(command);
    for (const listener of this.listeners) listener();
  }

  /** Handles an event from the terminal. */
  handle(event: InputEvent, clicked?: ClickTarget): void {
    switch (event.kind) {
      case "key":
        return this.dispatch({ kind: "key", key: event.key });
      case "wheel":
        return this.dispatch({ kind: "wheel", steps: event.steps });
      case "press":
        if (clicked !== undefined) this.dispatch({ kind: "click", target: clicked });
    }
  }

  async open(...targets: readonly string[]): Promise<void> {
    this.dispatch({ kind: "open", targets });
    await this.runner.opening;
  }

  /** Shows a trace that is already loaded, with its saved view. */
  show(title: string, path: string | undefined, trace: Trace, isModel = false, atHand: StepAtHand = {}): void {
    const saved = path === undefined ? {} : this.host.loadView(path);
    this.dispatch({ kind: "show", title, path, trace, isModel, atHand, saved });
  }
}
