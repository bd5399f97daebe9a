import { deviceSpec } from "@remat/runtime-estimator";
import { Trace } from "@remat/trace";
import fc from "fast-check";
import { TraceDocument } from "../../src/document/trace-document.js";
import { reduce } from "../../src/reduce/reduce.js";
import { drawScreen } from "../../src/screen/draw-screen.js";
import type { Action } from "../../src/state/action.js";
import { type AppState, initialState, type ScreenSize } from "../../src/state/app-state.js";
import type { Command } from "../../src/state/command.js";
import { globalKeys } from "../../src/state/global-keys.js";
import type { SavedView } from "../../src/state/opened.js";
import type { View } from "../../src/state/view.js";
import { targetAt } from "../../src/text/drawn.js";
import { asciiGlyphs, unicodeGlyphs } from "../../src/text/glyphs.js";

/** Something that a person does: a click is on one of the places that can be clicked, by its number. */
export type Deed = Exclude<Action, { kind: "click" }> | { readonly kind: "clickAt"; readonly region: number };

/** Terminals that the app fits. */
export const randomSize: fc.Arbitrary<ScreenSize> = fc.record({
  columns: fc.integer({ min: 60, max: 200 }),
  rows: fc.integer({ min: 20, max: 60 }),
});

/** Keys that mean something, and some that do not; clicks, the wheel, terminals that change. */
export function randomDeeds(views: readonly View[]): fc.Arbitrary<Deed[]> {
  const keys = [...globalKeys(views), ...views.flatMap((view) => view.keys)].flatMap((binding) => binding.keys);
  // Far more often than by chance, so that one comes to the ends of long lists.
  const walking = ["G", "pagedown", "pageup", "a", "*", "enter", "esc", ...views.map((_view, i) => String(i + 1))];
  const deed = fc.oneof(
    {
      weight: 20,
      arbitrary: fc.record({ kind: fc.constant("key" as const), key: fc.constantFrom(...walking) }),
    },
    {
      weight: 20,
      arbitrary: fc.record({ kind: fc.constant("key" as const), key: fc.constantFrom(...keys, "c", "x", "é") }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("clickAt" as const), region: fc.nat(500) }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant("wheel" as const), steps: fc.constantFrom(1 as const, -1 as const) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("resize" as const), size: randomSize }) },
  );
  return fc.array(deed, { maxLength: 40, size: "large" });
}

/** The state in which a trace has just been opened. */
export function shownState(
  views: readonly View[],
  trace: Trace,
  size: ScreenSize,
  { isAscii = false, saved = {} }: { readonly isAscii?: boolean; readonly saved?: SavedView } = {},
): AppState {
  const look = {
    theme: "dark",
    depth: "truecolor",
    isPlain: false,
    glyphs: isAscii ? asciiGlyphs : unicodeGlyphs,
  } as const;
  const begun = initialState({ look, size, device: deviceSpec("a100"), view: views[0].name });
  const show = { kind: "show", title: trace.header.model ?? "", path: "/run", trace, saved } as const;
  return frozen(reduce(views, begun, show).state);
}

/** The states that deeds lead through, each frozen, so that whoever changes one fails; and what was to be done to the world. */
export function drive(
  views: readonly View[],
  start: AppState,
  deeds: readonly Deed[],
): { readonly states: readonly AppState[]; readonly commands: readonly Command[] } {
  const states = [start];
  const commands: Command[] = [];
  for (const deed of deeds) {
    const state = states[states.length - 1];
    const action = deed.kind === "clickAt" ? clickOf(views, state, deed.region) : deed;
    if (action === undefined) continue;
    const step = reduce(views, state, action);
    states.push(frozen(step.state));
    commands.push(...step.commands);
  }
  return { states, commands };
}

function clickOf(views: readonly View[], state: AppState, number: number): Action | undefined {
  const { regions } = drawScreen(views, state, state.size);
  const region = regions[number % Math.max(1, regions.length)];
  if (region === undefined) return undefined;
  const target = targetAt(regions, region.x + Math.floor(region.width / 2), region.y);
  return target && { kind: "click", target };
}

/** The plain data of a state, with documents represented by their identity. */
export function plainly(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, part: unknown) => {
      if (part instanceof TraceDocument) return { name: part.name, settings: part.settings };
      if (part instanceof Trace) return { ops: part.ops.count };
      if (part instanceof Set) return [...(part as Set<unknown>)];
      if (ArrayBuffer.isView(part)) return [...new Uint8Array(part.buffer, part.byteOffset, part.byteLength)];
      return part;
    }),
  );
}

function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  // Documents compute what they are asked for when they first are.
  if (value instanceof TraceDocument || value instanceof Trace || ArrayBuffer.isView(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) frozen(part);
  return value;
}
