import { RematError, type Trace } from "@remat/trace";
import { hasOwnRuntimes, type Settings } from "../document/settings.js";
import { TraceDocument } from "../document/trace-document.js";
import type { InputEvent } from "../terminal/read-input.js";
import type { ClickTarget } from "../text/drawn.js";
import type { Glyphs } from "../text/glyphs.js";
import { type ColourDepth, createTheme, type Style, type Theme, type ThemeName } from "../text/theme.js";
import { viewsByName } from "../views/views-by-name.js";
import { type AppState, initialState } from "./app-state.js";
import { handleInput } from "./handle-input.js";
import type { Host } from "./host.js";
import type { ViewName } from "./key-map.js";
import { openTargets } from "./open-targets.js";
import { OptimumSearch } from "./optimum-search.js";
import { planStep } from "./plan-step.js";
import { restoreView, savedViewOf } from "./saved-view.js";
import type { View } from "./view.js";

export interface AppOptions {
  readonly host: Host;
  readonly glyphs: Glyphs;
  readonly depth: ColourDepth;
  readonly theme: ThemeName;
  readonly size: AppState["size"];
  /** Which view to begin with; left out: the one that was on last. */
  readonly view?: ViewName | undefined;
  /** No escape sequences at all: for `--once` into a pipe. */
  readonly isPlain?: boolean;
}

/**
 * The app without a screen: its state, what keys and clicks do to it, and the document that is shown. Whoever draws it subscribes to changes.
 */
export class App {
  readonly host: Host;
  readonly glyphs: Glyphs;
  readonly optimum: OptimumSearch;
  state: AppState;
  /** The document as it is shown, under the settings in force. */
  private current: TraceDocument | undefined;
  /** As it was opened: what the settings are compared with. */
  private first: TraceDocument | undefined;
  /** A second document, to compare with. */
  other: TraceDocument | undefined;
  /** Counts changes; what is drawn belongs to one count. */
  version = 0;
  private readonly depth: ColourDepth;
  private readonly isPlain: boolean;
  /** The view that was asked for, whatever a trace was left with. */
  readonly wantedView: ViewName | undefined;
  private readonly themes = new Map<ThemeName, Theme>();
  private readonly remembered = new Map<string, { readonly of: readonly unknown[]; readonly value: unknown }>();
  private readonly listeners = new Set<() => void>();
  private readonly categoryStyles = new Map<string, Style>();
  private opening: AbortController | undefined;
  private planning: AbortController | undefined;

  constructor(options: AppOptions) {
    this.host = options.host;
    this.glyphs = options.glyphs;
    this.depth = options.depth;
    this.isPlain = options.isPlain ?? false;
    this.wantedView = options.view;
    this.state = initialState(options.view ?? "modules", options.theme, options.size);
    this.optimum = new OptimumSearch(() => this.changed());
  }

  get document(): TraceDocument {
    if (this.current === undefined) throw new RematError("TERMINAL_NO_DOCUMENT", "no trace is open. Open one first.");
    return this.current;
  }

  get hasDocument(): boolean {
    return this.current !== undefined;
  }

  get opened(): TraceDocument {
    return this.first ?? this.document;
  }

  get view(): View {
    return viewsByName[this.state.view];
  }

  get theme(): Theme {
    const { theme: name } = this.state;
    let theme = this.themes.get(name);
    if (theme === undefined) this.themes.set(name, (theme = createTheme(name, this.depth, this.isPlain)));
    return theme;
  }

  /** Fully qualified name of the module that views 2 and 3 are about. */
  get selectedModule(): string | undefined {
    return this.document.tree().nodes[this.state.modules.node]?.fqn;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Tells whoever draws that something is different. */
  changed(): void {
    this.version++;
    for (const listener of this.listeners) listener();
  }

  tell(text: string, kind: "info" | "warning" = "info"): void {
    this.state.notice = { text, kind };
  }

  /** What `compute` made for the same things before; one result by name is kept. */
  remember<T>(name: string, of: readonly unknown[], compute: () => T): T {
    const known = this.remembered.get(name);
    if (known !== undefined && known.of.length === of.length && known.of.every((item, i) => Object.is(item, of[i])))
      return known.value as T;
    const value = compute();
    this.remembered.set(name, { of, value });
    return value;
  }

  isMatch(text: string): boolean {
    const { prompt, searched } = this.state;
    const wanted = prompt?.kind === "search" ? prompt.text : searched;
    return wanted !== "" && text.toLowerCase().includes(wanted.toLowerCase());
  }

  categoryStyle(category: string): Style | undefined {
    const band = this.document.categoryBands().bands.find(({ key }) => key === category);
    if (band === undefined) return undefined;
    const known = this.categoryStyles.get(category) ?? { colour: band.colour };
    this.categoryStyles.set(category, known);
    return known;
  }

  /** Shows a trace. */
  show(title: string, path: string | undefined, trace: Trace): void {
    const document = TraceDocument.open({ title, path }, trace, this.host.device);
    this.current = document;
    this.first = document;
    this.remembered.clear();
    const { size, theme, plan } = this.state;
    this.state = { ...initialState(this.wantedView ?? "modules", theme, size), screen: "views", plan };
    const depth = document.tree().nodes.length > 500 ? 1 : 2;
    this.state.modules.expanded = new Set(
      document.tree().nodes.flatMap((node) => (node.depth < depth && node.children.length > 0 ? [node.index] : [])),
    );
    if (path !== undefined) this.current = restoreView(this, this.host.loadView(path), this.wantedView);
    const { truncated } = trace;
    if (truncated !== undefined)
      this.tell(`damaged: read up to line ${truncated.line}. ${truncated.reason}`, "warning");
    else if (plan !== undefined) this.state.view = this.wantedView ?? "devices";
    this.changed();
  }

  /** Opens what `targets` name: a trace or model; a second one to compare with; a plan, which is shown with the trace. */
  async open(...targets: readonly string[]): Promise<void> {
    await openTargets(this, targets);
  }

  /** Begins something that can be stopped; what was begun before is. */
  beginOpening(): AbortController {
    this.opening?.abort();
    this.opening = new AbortController();
    return this.opening;
  }

  /** Stops what is being opened; whether anything was. */
  cancelOpening(): boolean {
    if (this.opening === undefined || this.state.start.loading === undefined) return false;
    this.opening.abort();
    this.state.start.loading = undefined;
    this.state.screen = this.hasDocument ? "views" : "start";
    this.tell("stopped");
    return true;
  }

  /** A second trace, for the view that compares. */
  compareWith(title: string, trace: Trace, path?: string): void {
    this.other = TraceDocument.open({ title, path }, trace, this.host.device);
  }

  /** Selects a module. @throws RematError `MODULE_UNKNOWN` */
  requireModule(fqn: string): void {
    if (this.selectModule(fqn)) return;
    const near = this.document
      .tree()
      .nodes.filter((node) => node.fqn.includes(fqn))
      .slice(0, 5);
    const names = (near.length > 0 ? near : this.document.tree().nodes.slice(0, 5)).map((node) => node.fqn);
    throw new RematError("MODULE_UNKNOWN", `there is no module ${fqn}. Name one, e.g. ${names.join(", ")}.`);
  }

  changeSettings(settings: Partial<Settings>): void {
    const module = this.selectedModule;
    this.current = this.document.with(settings);
    if (module !== undefined) this.selectModule(module);
  }

  /** Puts the cursor of the module tree on a module; whether there is one of that name. */
  selectModule(fqn: string): boolean {
    const { nodes } = this.document.tree();
    const node = nodes.find((module) => module.fqn === fqn);
    if (node === undefined) return false;
    const expanded = new Set(this.state.modules.expanded);
    for (let at = node.parent; at >= 0; at = nodes[at].parent) expanded.add(at);
    this.state.modules.node = node.index;
    this.state.modules.expanded = expanded;
    return true;
  }

  /**
   * What view 5 compares: two traces; the recorded runtimes beside predicted ones; or, of a trace without runtimes of its own, the
   * settings that it was opened with beside those in force.
   */
  comparedDocuments(): { documents: readonly [TraceDocument, TraceDocument]; names: readonly [string, string] } {
    const { document, opened, other } = this;
    if (other !== undefined) return { documents: [document, other], names: [document.name.title, other.name.title] };
    const { settings } = document;
    const predicted = this.remember("predicted", [document], () =>
      settings.device === undefined ? document.with({ device: this.host.device }) : document,
    );
    const nameOf = ({ device, worldSize }: Settings): string =>
      `${device ?? "as recorded"}${worldSize > 1 ? `, one of ${worldSize} ranks` : ""}`;
    if (hasOwnRuntimes(document.recorded)) {
      const recorded = this.remember("recorded", [opened], () => opened.with({ device: undefined }));
      return { documents: [recorded, predicted], names: ["recorded", `predicted for ${nameOf(predicted.settings)}`] };
    }
    return {
      documents: [opened, document],
      names: [`as opened: ${nameOf(opened.settings)}`, `now: ${nameOf(settings)}`],
    };
  }

  planStep(): void {
    if (this.planning !== undefined) return;
    const planning = new AbortController();
    this.planning = planning;
    void planStep(this, planning.signal).finally(() => {
      this.planning = undefined;
      this.state.devices.planning = undefined;
      this.changed();
    });
  }

  /** Stops planning, which then shows the best that it has; whether anything was being planned. */
  cancelPlanning(): boolean {
    if (this.planning === undefined) return false;
    this.planning.abort();
    return true;
  }

  /** Something came from the terminal. */
  handle(event: InputEvent, clicked?: ClickTarget): void {
    try {
      handleInput(this, event, clicked);
    } catch (error) {
      if (!(error instanceof RematError)) throw error;
      this.tell(error.message, "warning");
    }
    this.changed();
  }

  /** Rows that a page has. */
  get page(): number {
    return Math.max(1, this.state.size.rows - 6);
  }

  /** Keeps what is on, and goes. */
  quit(): void {
    this.opening?.abort();
    this.planning?.abort();
    this.optimum.stop();
    this.keep();
    this.host.quit();
  }

  /** Saves the state of the document that is open. */
  keep(): void {
    const path = this.current?.name.path;
    if (path !== undefined) this.host.saveView(path, this.document.name.title, savedViewOf(this));
  }
}
