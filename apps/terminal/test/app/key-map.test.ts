import { sampledCases } from "@remat/testkit";
import { describe, expect, it } from "vitest";
import { helpLines } from "../../src/screen/help-screen.js";
import { globalKeys } from "../../src/state/global-keys.js";
import { bindingOf, keyLabel } from "../../src/state/key-binding.js";
import { viewOf } from "../../src/state/scene-of.js";
import { keyMap } from "../../src/views/key-map.js";
import { viewNames, views } from "../../src/views/views.js";
import { transformer } from "../traces.js";
import { appOf, screenText } from "./make-app.js";

const trace = await transformer();

describe("the key map", () => {
  it("gives no key two meanings in one view", () => {
    const twice = views.flatMap(({ name, keys: own }) => {
      const keys = [...globalKeys(views), ...own].flatMap((binding) => binding.keys);
      return keys.filter((key, i) => keys.indexOf(key) !== i).map((key) => `${name}: ${key}`);
    });
    expect(twice).toEqual([]);
  });

  it("has views by different names, and one at most that opens for something", () => {
    expect(new Set(viewNames).size).toBe(views.length);
    const openers = views.flatMap(({ opensFor }) => opensFor ?? []);
    expect(new Set(openers).size).toBe(openers.length);
  });

  it("names keys as the terminal's input is read", () => {
    const named =
      "up down left right shift+left shift+right tab shift+tab enter esc backspace pageup pagedown home end".split(" ");
    for (const { keys } of keyMap)
      for (const key of keys) expect(named.includes(key) || /^(ctrl\+[a-z]|[\x20-\x7e])$/.test(key), key).toBe(true);
  });

  it("does something, or says why not, for every key in every view", () => {
    for (const view of sampledCases(viewNames, 2))
      for (const { keys, action } of keyMap) {
        if (["suspend", "redraw"].includes(action)) continue;
        for (const key of keys) {
          const { app, press, deeds } = appOf(trace, { view });
          const inView = [...globalKeys(views), ...viewOf(views, app.state).keys];
          if (bindingOf(inView, key)?.action !== action) continue;
          expect(() => {
            press(key);
            screenText(app);
          }, `${key} in ${view}`).not.toThrow();
          if (action === "quit") expect(deeds.quits).toBe(1);
          app.runner.works.stopAll();
          app.runner.works.stopAll();
        }
      }
  });

  it("is what the help shows, whole, with the keys of the view first", () => {
    for (const view of viewNames) {
      const { app } = appOf(trace, { view });
      const text = helpLines(views, viewOf(views, app.state), 200).map((line) =>
        line.map(({ text: part }) => part).join(""),
      );
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

  it("loses nothing of the help in 60 columns", () => {
    for (const view of views) {
      const [whole, narrow] = [200, 60].map((width) =>
        helpLines(views, view, width).map((line) => line.map(({ text }) => text).join("")),
      );
      for (const line of narrow) expect(line.length).toBeLessThanOrEqual(60);
      const words = (lines: readonly string[]) => lines.join(" ").split(/\s+/);
      expect(words(narrow)).toEqual(words(whole));
    }
    expect(
      helpLines(views, views.find(({ name }) => name === "ops")!, 60)
        .flat()
        .some(({ text }) => text.includes("MSPS")),
    ).toBe(true);
  });

  it("is shown by ?, scrolled, and closed by any other key", () => {
    const { app, press } = appOf(trace, { view: "modules" });
    press("?");
    const first = screenText(app);
    expect(first.join("\n")).toContain("collapse all");
    press("down");
    expect(screenText(app)[2]).toBe(first[3]);
    press("x");
    expect(screenText(app)[2]).toContain("Module");
  });
});
