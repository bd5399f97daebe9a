import type { Action } from "../state/action.js";
import type { Command } from "../state/command.js";
import type { Host } from "./host.js";

/** Minimum time between two progress messages. */
const progressMs = 100;

/** Opens targets one after the other and reports progress. Nothing more is reported after it is stopped. */
export async function openTargets(
  { id, targets }: Extract<Command, { kind: "open" }>,
  host: Host,
  dispatch: (action: Action) => void,
  signal: AbortSignal,
): Promise<void> {
  try {
    for (const title of targets) {
      const tell = (text: string): void => dispatch({ kind: "opening", id, title, text });
      tell("opening");
      const opened = await host.open(title, { signal, onProgress: seldom(tell, signal) });
      if (signal.aborted) return;
      dispatch({ kind: "opened", id, opened, saved: opened.kind === "trace" ? host.loadView(opened.path) : {} });
    }
    dispatch({ kind: "allOpened", id });
  } catch (error) {
    if (!signal.aborted) dispatch({ kind: "notOpened", id, reason: (error as Error).message });
  }
}

function seldom(tell: (text: string) => void, signal: AbortSignal): (text: string) => void {
  let toldMs = 0;
  return (text) => {
    const now = performance.now();
    if (signal.aborted || now - toldMs < progressMs) return;
    toldMs = now;
    tell(text);
  };
}
