import { drawScreen } from "../screen/draw-screen.js";
import type { AppState } from "../state/app-state.js";
import type { View } from "../state/view.js";
import type { InputEvent } from "../terminal/read-input.js";
import { type Region, targetAt } from "../text/drawn.js";
import { paintLine } from "../text/line.js";
import { themeOfLook } from "../text/look.js";
import type { App } from "./app.js";

/** A frame ready to be written to a terminal. */
export interface PaintedFrame {
  /** Each as wide as the terminal, in the app's colours. */
  readonly rows: readonly string[];
  readonly regions: readonly Region[];
}

/** Returns the whole screen of a state. */
export function paintFrame(views: readonly View[], state: AppState): PaintedFrame {
  const { look, size } = state;
  const { title, body, bottom, regions } = drawScreen(views, state, size);
  const theme = themeOfLook(look);
  return { rows: [...title, ...body, ...bottom].map((line) => paintLine(line, theme, look.glyphs)), regions };
}

/**
 * Paints an app now and whenever its state changes. All input of one turn of the event loop leads to one frame, for
 * example while a key is held down. `handle` receives events from the terminal and resolves clicks against the frame on
 * the screen.
 */
export function followApp(
  app: App,
  paint: (rows: readonly string[]) => void,
): { handle(event: InputEvent): void; stop(): void } {
  let regions: readonly Region[] = [];
  let isAsked = true;
  let isOver = false;
  const draw = (): void => {
    isAsked = false;
    if (isOver) return;
    const frame = paintFrame(app.views, app.state);
    regions = frame.regions;
    paint(frame.rows);
  };
  const stop = app.subscribe(() => {
    if (isAsked) return;
    isAsked = true;
    queueMicrotask(draw);
  });
  queueMicrotask(draw);
  return {
    handle: (event) => app.handle(event, event.kind === "press" ? targetAt(regions, event.x, event.y) : undefined),
    stop() {
      isOver = true;
      stop();
    },
  };
}
