import { Box, Text, Transform, useInput } from "ink";
import { createElement, type ReactNode, useCallback, useSyncExternalStore } from "react";
import { drawScreen } from "../screen/draw-screen.js";
import { readInput } from "../terminal/read-input.js";
import { targetAt } from "../text/drawn.js";
import { type Line, paintLine } from "../text/line.js";
import { type Look, themeOfLook } from "../text/look.js";
import type { App } from "./app.js";

export interface AppViewProps {
  readonly app: App;
  /** False where there is no keyboard. */
  readonly hasInput?: boolean;
}

/** Draws the whole screen. It is drawn anew when the state is another one; every line is made by the views as it is to be seen. */
export function AppView({ app, hasInput = true }: AppViewProps): ReactNode {
  const state = useSyncExternalStore(app.subscribe, () => app.state);
  const { look, size } = state;
  const { title, body, bottom, regions } = drawScreen(app.views, state, size);
  useInput(
    useCallback(
      (input, key) => {
        for (const event of readInput(input, key))
          app.handle(event, event.kind === "press" ? targetAt(regions, event.x, event.y) : undefined);
      },
      [app, regions],
    ),
    { isActive: hasInput },
  );
  return createElement(
    Box,
    { flexDirection: "column", width: size.columns },
    createElement(Lines, { look, lines: title }),
    createElement(Lines, { look, lines: body }),
    createElement(Lines, { look, lines: bottom }),
  );
}

/**
 * Lines below each other, in the app's colours. Ink lays out a column of spaces, and is handed each line when it writes it: the lines are as wide
 * as they are to be already, and Ink would keep what it measured of every text for ever.
 */
function Lines({ look, lines }: { readonly look: Look; readonly lines: readonly Line[] }): ReactNode {
  if (lines.length === 0) return undefined;
  const theme = themeOfLook(look);
  const transform = (_space: string, row: number): string => paintLine(lines[row], theme, look.glyphs);
  return createElement(Transform, { transform }, createElement(Text, {}, new Array(lines.length).fill(" ").join("\n")));
}
