import { describe, expect, it } from "vitest";
import { type ActionName, bindingOf, keyLabel, keyMap, viewNames } from "../../src/app/key-map.js";
import { helpLines } from "../../src/screen/help-screen.js";
import { viewsByName as views } from "../../src/views/views-by-name.js";
import { transformer } from "../traces.js";
import { appOf, screenText } from "./make-app.js";

const trace = await transformer();

describe("the key map", () => {
  it("gives no key two meanings in one view", () => {
    const twice = viewNames.flatMap((view) => {
      const keys = keyMap
        .filter(({ views: where }) => where === undefined || where.includes(view))
        .flatMap(({ keys: own }) => own);
      return keys.filter((key, i) => keys.indexOf(key) !== i).map((key) => `${view}: ${key}`);
    });
    expect(twice).toEqual([]);
  });

  it("names keys as the terminal's input is read", () => {
    const named =
      "up down left right shift+left shift+right tab shift+tab enter esc backspace pageup pagedown home end".split(" ");
    for (const { keys } of keyMap)
      for (const key of keys) expect(named.includes(key) || /^(ctrl\+[a-z]|[\x20-\x7e])$/.test(key), key).toBe(true);
  });

  it("has, for every key of one view, something that the view does", () => {
    const missing = keyMap.flatMap(({ action, views: where }) =>
      (where ?? []).filter((view) => views[view].actions[action] === undefined).map((view) => `${view}: ${action}`),
    );
    expect(missing).toEqual([]);
  });

  it("has a key for everything that a view does", () => {
    const keyless = viewNames.flatMap((view) =>
      (Object.keys(views[view].actions) as ActionName[])
        .filter(
          (action) =>
            !keyMap.some(
              (binding) => binding.action === action && (binding.views === undefined || binding.views.includes(view)),
            ),
        )
        .map((action) => `${view}: ${action}`),
    );
    expect(keyless).toEqual([]);
  });

  it("does something, or says why not, for every key in every view", () => {
    for (const view of viewNames)
      for (const { keys, action } of keyMap) {
        if (["suspend", "redraw"].includes(action)) continue;
        for (const key of keys) {
          const { app, press, deeds } = appOf(trace, { view });
          if (bindingOf(key, view)?.action !== action) continue;
          expect(() => {
            press(key);
            screenText(app);
          }, `${key} in ${view}`).not.toThrow();
          if (action === "quit") expect(deeds.quits).toBe(1);
          app.optimum.stop();
          app.cancelPlanning();
        }
      }
  });

  it("is what the help shows, whole, with the keys of the view first", () => {
    for (const view of viewNames) {
      const { app } = appOf(trace, { view });
      const text = helpLines(app).map((line) => line.map(({ text: part }) => part).join(""));
      expect(text[0]).toContain("In this view");
      for (const { help, keys } of keyMap) {
        const line = text.find((row) => row.endsWith(help));
        expect(line, help).toBeDefined();
        expect(line).toContain(keyLabel(keys[0]));
      }
      const own = keyMap.filter(({ views: where }) => where?.includes(view)).map(({ help }) => help);
      expect(text.slice(1, 1 + own.length).map((line) => line.slice(24))).toEqual(own);
    }
  });

  it("is shown by ?, scrolled, and closed by any other key", () => {
    const { app, press } = appOf(trace);
    press("?");
    const first = screenText(app);
    expect(first.join("\n")).toContain("collapse all");
    press("down");
    expect(screenText(app)[2]).toBe(first[3]);
    press("x");
    expect(screenText(app)[2]).toContain("Module");
  });
});
