import { checkedShare } from "@remat/testkit/checked-share";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keptView } from "../../src/reduce/kept-view.js";
import { reduce } from "../../src/reduce/reduce.js";
import { drawScreen } from "../../src/screen/draw-screen.js";
import type { AppState } from "../../src/state/app-state.js";
import { lineWidth } from "../../src/text/line.js";
import { views } from "../../src/views/views.js";
import { linesOf } from "../app/make-app.js";
import { randomTrace } from "../random-trace.js";
import { drive, plainly, randomDeeds, randomSize, shownState } from "./drive.js";

const runs = { numRuns: 30 };
const scenario = {
  trace: randomTrace,
  size: randomSize,
  deeds: randomDeeds(views),
};

/** Beginning of the list and cursor in the current view's state, as far as it has them. */
function placeOf({ own, view }: AppState): { readonly top?: number; readonly cursor?: number } {
  return own[view] as object;
}

/** The rows of a list that are on the screen. */
function shownRows(state: AppState): readonly number[] {
  if (state.screen !== "views" || state.help !== undefined || state.view === "devices") return [];
  return drawScreen(views, state, state.size).regions.flatMap(({ target }) =>
    target.kind === "row" ? target.index : [],
  );
}

describe("whatever is pressed, clicked and resized, on whatever trace", () => {
  it("leaves every state whole, with the cursor on a row that there is and the window round it", () => {
    const given = checkedShare();
    fc.assert(
      fc.property(fc.record(scenario), ({ trace, size, deeds }) => {
        for (const state of drive(views, shownState(views, trace, size), deeds).states) {
          const rows = shownRows(state);
          const { top = rows[0], cursor = rows[0] } = placeOf(state);
          // No more is drawn than what the state says: nothing is put right on the way to the screen.
          if (given(rows.length > 0)) expect([rows[0], rows.includes(cursor)]).toEqual([top, true]);
          expect(views.some(({ name }) => name === state.view)).toBe(true);
          const { nodes } = state.run!.document.tree();
          expect(state.module === undefined ? nodes.length === 0 : nodes.some(({ fqn }) => fqn === state.module)).toBe(
            true,
          );
          // A settled state does not change when nothing happens.
          const again = reduce(views, state, { kind: "resize", size: state.size });
          expect(again.commands).toEqual([]);
          expect(plainly(again.state)).toEqual(plainly(state));
        }
      }),
      runs,
    );
  });

  it("draws the same frame for the same state, exactly as large as the terminal, with the cursor on it", () => {
    // Two of the views are lists; most of the others are charts and tables.
    const given = checkedShare(0.1);
    fc.assert(
      fc.property(
        fc.record({ ...scenario, other: randomSize, isAscii: fc.boolean() }),
        ({ trace, size, deeds, other, isAscii }) => {
          // Also with another size: a terminal can change before it reports that.
          for (const state of drive(views, shownState(views, trace, size, { isAscii }), deeds).states)
            for (const shown of [state.size, other]) {
              const screen = drawScreen(views, state, shown);
              const lines = linesOf(screen);
              expect(lines).toHaveLength(shown.rows);
              expect(Math.max(...lines.map(lineWidth))).toBeLessThanOrEqual(shown.columns);
              expect(lines.flatMap((line) => line.map(({ text }) => text)).join("")).not.toMatch(/[\p{Cc}\u202e]/u);
              expect(drawScreen(views, state, shown)).toEqual(screen);
              const isList = state.view === "devices" || (state.view === "modules" && state.module !== undefined);
              if (given(isList && state.help === undefined && state.screen === "views"))
                expect(screen.body.flat().some(({ style }) => style === "selected")).toBe(true);
            }
        },
      ),
      runs,
    );
  });

  it("comes to the same state and the same commands by the same actions", () => {
    fc.assert(
      fc.property(fc.record(scenario), ({ trace, size, deeds }) => {
        const [one, two] = [1, 2].map(() => drive(views, shownState(views, trace, size), deeds));
        expect(plainly(one.states)).toEqual(plainly(two.states));
        expect(plainly(one.commands)).toEqual(plainly(two.commands));
      }),
      runs,
    );
  });

  it("brings back what it keeps of a trace, whatever that is", () => {
    fc.assert(
      fc.property(fc.record(scenario), ({ trace, size, deeds }) => {
        const last = drive(views, shownState(views, trace, size), deeds).states.at(-1)!;
        const saved = JSON.parse(JSON.stringify(keptView(views, last))) as object;
        const again = shownState(views, trace, last.size, { saved });
        expect(JSON.parse(JSON.stringify(keptView(views, again)))).toEqual(saved);
      }),
      runs,
    );
  });

  it("takes anything for what was kept", () => {
    fc.assert(
      fc.property(
        randomTrace,
        randomSize,
        fc.dictionary(fc.constantFrom("view", "module", "device", "views"), fc.jsonValue()),
        fc.dictionary(fc.constantFrom(...views.map(({ name }) => name)), fc.jsonValue()),
        (trace, size, saved, kept) => {
          const state = shownState(views, trace, size, { saved: { views: kept, ...saved } as object });
          expect(() => drawScreen(views, state, size)).not.toThrow();
          expect(reduce(views, state, { kind: "resize", size }).commands).toEqual([]);
        },
      ),
      runs,
    );
  });
});
