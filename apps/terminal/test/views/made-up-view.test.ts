import { expect, it } from "vitest";
import type { Outcome, Scene, View, ViewAction } from "../../src/state/view.js";
import { type ListPlace, moveBy, settlePlace } from "../../src/table/list-place.js";
import { textOnly } from "../../src/text/drawn.js";
import { views } from "../../src/views/views.js";
import { appOf, own, screenOf, screenText } from "../app/make-app.js";
import { transformer } from "../traces.js";

const trace = await transformer();

interface StoragesState extends ListPlace {
  readonly isMegabytes: boolean;
}

const unitOf = ({ isMegabytes }: StoragesState): number => (isMegabytes ? 1e6 : 1);
const bytesOf = ({ document }: Scene, storage: number): number => document.trace.storages.bytes[storage];

/** A made-up view, which lists the storages of a trace, one per line. This object is all that it needs. */
const storagesView: View<StoragesState, "unit"> = {
  name: "storages",
  title: "Storages",
  keys: [{ keys: ["u"], action: "unit", help: "bytes, or megabytes", hint: "unit" }],
  initial: () => ({ cursor: 0, top: 0, isMegabytes: false }),
  reduce(scene, state, action: ViewAction<"unit">): Outcome<StoragesState> {
    switch (action.kind) {
      case "key":
        return {
          own: { ...state, isMegabytes: !state.isMegabytes },
          requests: [{ kind: "tell", text: "other units" }],
        };
      case "move":
        return { own: moveBy(state, action.by, scene.document.trace.storages.count) };
      case "choose":
        return { own: { ...state, cursor: action.index } };
      case "enter":
        return { own: state, requests: [{ kind: "drillInto", view: "ops", module: scene.module }] };
      case "back":
        return { own: state, requests: [{ kind: "leave" }] };
      default:
        return { own: state };
    }
  },
  settle: (scene, state) => ({ own: settlePlace(state, scene.document.trace.storages.count, scene.area.height) }),
  draw: (scene, state) =>
    textOnly(
      ...Array.from({ length: scene.area.height }, (_, row) => {
        const storage = state.top + row;
        const style = storage === state.cursor ? ("selected" as const) : undefined;
        return [{ text: `storage ${storage}: ${bytesOf(scene, storage) / unitOf(state)}`, style }];
      }),
    ),
  search: (scene, state) => ({
    count: scene.document.trace.storages.count,
    text: (storage) => `${bytesOf(scene, storage)}`,
    current: state.cursor,
  }),
  table: (scene) => ({
    title: "Storages",
    columns: ["storage", "bytes"],
    rows: Array.from(scene.document.trace.storages.bytes, (bytes, storage) => [storage, bytes]),
  }),
  copied: (scene, state) => `${bytesOf(scene, state.cursor)}`,
  save: ({ isMegabytes }) => ({ isMegabytes }),
  restore: (_scene, state, saved) => ({
    ...state,
    isMegabytes: (saved as { isMegabytes?: unknown } | null)?.isMegabytes === true,
  }),
};

it("is all that has to be written: a made-up view is shown, driven, searched, exported, kept and explained", () => {
  const all = [...views, storagesView];
  const { app, press, type, deeds } = appOf(trace, { views: all });
  press("0");
  expect(screenText(app)[0]).toMatch(/10 ?Storages/);
  expect(screenText(app)[2]).toBe(`storage 0: ${trace.storages.bytes[0]}`.padEnd(100));
  expect(screenText(app).at(-1)).toContain("u unit");

  press("down", "down", "u");
  expect(screenText(app).at(-1)).toContain("other units");
  press("G");
  const selected = screenOf(app).body.filter((line) => line.some(({ style }) => style === "selected"));
  expect(selected.map((line) => line[0].text)).toEqual([
    `storage ${trace.storages.count - 1}: ${trace.storages.bytes[trace.storages.count - 1] / 1e6}`,
  ]);

  const wanted = String(trace.storages.bytes[5]);
  press("g", "/");
  type(wanted);
  press("enter", "y");
  expect(deeds.copied).toEqual([wanted]);

  press("e", "c");
  expect(deeds.files[0].name).toBe("transformer-storages.csv");
  expect(deeds.files[0].text.trimEnd().split("\r\n")).toHaveLength(trace.storages.count + 1);

  press("enter");
  expect(app.state.view).toBe("ops");
  press("esc");
  expect(app.state.view).toBe("storages");

  press("?");
  expect(screenText(app)[2]).toContain("In this view (Storages)");
  expect(screenText(app)[3]).toMatch(/u +bytes, or megabytes/);
  press("x", "tab");
  expect(app.state.view).toBe("held");
  press("shift+tab", "q");

  const [{ view: saved }] = deeds.saved;
  expect(saved).toMatchObject({ view: "storages", views: { storages: { isMegabytes: true } } });
  const { app: again } = appOf(trace, { views: all, host: { loadView: () => saved } });
  expect(again.state.view).toBe("storages");
  expect((own(again) as unknown as { storages: StoragesState }).storages.isMegabytes).toBe(true);
});
