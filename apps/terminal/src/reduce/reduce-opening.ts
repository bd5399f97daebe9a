import { type Trace, truncationNote } from "@remat/trace";
import type { StepAtHand } from "../document/step-at-hand.js";
import { TraceDocument } from "../document/trace-document.js";
import { bodyArea } from "../screen/draw-screen.js";
import type { Action, Step } from "../state/action.js";
import { type AppState, initialState } from "../state/app-state.js";
import type { SavedView } from "../state/opened.js";
import { sceneOf } from "../state/scene-of.js";
import type { View } from "../state/view.js";
import { restoreView } from "./kept-view.js";
import { run, stay, withNotice } from "./step.js";

/** Begins to open `targets`: a trace or model; a second one to compare with; a plan, which is shown with the trace. */
export function beginOpening(state: AppState, targets: readonly string[]): Step {
  const id = state.openings + 1;
  const loading = { id, title: targets[0] ?? "", text: "opening", hasTrace: false };
  return run(
    {
      ...state,
      openings: id,
      screen: "start",
      plan: undefined,
      planFrom: undefined,
      run: state.run && { ...state.run, other: undefined },
      start: { ...state.start, error: undefined, loading },
    },
    { kind: "stopOpening" },
    { kind: "open", id, targets },
  );
}

/** Opens the selected entry of the start screen. */
export function openSelected(state: AppState): Step {
  const entry = state.start.entries[state.start.cursor];
  return entry === undefined || state.start.loading !== undefined ? stay(state) : beginOpening(state, [entry.target]);
}

export function stopOpening(state: AppState): Step {
  const stopped: AppState = {
    ...state,
    screen: state.run === undefined ? "start" : "views",
    start: { ...state.start, loading: undefined },
  };
  return run(withNotice(stopped, "stopped"), { kind: "stopOpening" });
}

/** Shows the progress of opening. */
export function showOpeningProgress(
  state: AppState,
  { id, title, text }: Extract<Action, { kind: "opening" }>,
): AppState {
  const { loading } = state.start;
  if (loading?.id !== id) return state;
  return { ...state, screen: "start", start: { ...state.start, loading: { ...loading, title, text } } };
}

/** Adds one opened target to the state. */
export function opened(
  views: readonly View[],
  state: AppState,
  { id, opened: found, saved }: Extract<Action, { kind: "opened" }>,
): Step {
  const { loading } = state.start;
  if (loading?.id !== id) return stay(state);
  if (found.kind === "plan") {
    const view = views.find(({ opensFor }) => opensFor === "plan")?.name ?? state.view;
    const { plan, title, following } = found;
    return stay({ ...state, plan, planFrom: { title, following }, view: loading.hasTrace ? view : state.view });
  }
  if (!loading.hasTrace) {
    const step = showTrace(views, state, { ...found, saved });
    const { start } = step.state;
    return { ...step, state: { ...step.state, start: { ...start, loading: { ...loading, hasTrace: true } } } };
  }
  const view = state.wantedView ?? views.find(({ opensFor }) => opensFor === "comparison")?.name ?? state.view;
  const beside: AppState = { ...addOther(state, found), view, notice: undefined };
  const notes = truncationNotes(beside);
  return stay(notes === "" ? beside : withNotice(beside, notes, true));
}

/** Names the open traces that are truncated. */
function truncationNotes({ run: shown }: AppState): string {
  const documents = shown === undefined ? [] : [shown.document, ...(shown.other === undefined ? [] : [shown.other])];
  return documents
    .flatMap(({ name: { title }, recorded }) => {
      const note = truncationNote(recorded);
      return note === undefined ? [] : [`${title}: ${note}`];
    })
    .join("; ");
}

/** Shows the opened targets. */
export function allOpened(state: AppState, id: number): AppState {
  const { loading } = state.start;
  if (loading?.id !== id) return state;
  return { ...state, screen: loading.hasTrace ? "views" : "plan", start: { ...state.start, loading: undefined } };
}

/** Explains why a target cannot be opened. */
export function notOpened(state: AppState, { id, reason }: Extract<Action, { kind: "notOpened" }>): Step {
  if (state.start.loading?.id !== id) return stay(state);
  return run(
    { ...state, screen: "start", start: { ...state.start, loading: undefined, error: reason } },
    { kind: "listEntries" },
  );
}

interface NamedTrace {
  readonly title: string;
  readonly path: string | undefined;
  readonly trace: Trace;
  readonly isModel?: boolean | undefined;
  readonly atHand?: StepAtHand;
}

/**
 * Shows a trace with its saved view and otherwise initial states of all views. A plan that was opened before is
 * removed.
 */
export function showTrace(
  views: readonly View[],
  state: AppState,
  { title, path, trace, isModel, atHand, saved }: NamedTrace & { readonly saved: SavedView },
): Step {
  const document = TraceDocument.open({ title, path, isModel }, trace, state, atHand);
  const { wantedView, plan } = state;
  const shown: AppState = {
    ...initialState({ ...state, view: wantedView ?? views[0].name }),
    openings: state.openings,
    start: { ...state.start, loading: undefined, error: undefined },
    screen: "views",
    plan,
    run: { document, opened: document, other: undefined },
    module: document.tree().nodes[0]?.fqn,
  };
  const scene = sceneOf(shown, bodyArea(views, shown));
  const begun = { ...shown, own: Object.fromEntries(views.map((view) => [view.name, view.initial(scene)])) };
  const restored = restoreView(views, begun, saved);
  const note = truncationNote(trace);
  const remembered = restored.run?.rememberedDevice;
  const planView = views.find(({ opensFor }) => opensFor === "plan")?.name;
  const next =
    note !== undefined
      ? withNotice(restored, note, true)
      : plan === undefined
        ? remembered === undefined
          ? restored
          : withNotice(restored, `Shown for ${remembered}, as in your last session. Use --device for another.`)
        : { ...restored, view: wantedView ?? planView ?? restored.view };
  return run(next, { kind: "stopAllWork" });
}

/**
 * Adds a second trace for the comparison view. Both are shown for the device they were opened for, whatever was saved
 * for the first.
 */
export function addOther(state: AppState, { title, path, trace }: NamedTrace): AppState {
  if (state.run === undefined) return state;
  const other = TraceDocument.open({ title, path }, trace, state);
  const { opened: first } = state.run;
  return { ...state, run: { ...state.run, document: first, other } };
}
