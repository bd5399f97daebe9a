import type { Key } from "ink";
import { describe, expect, it } from "vitest";
import { readInput } from "../../src/terminal/read-input.js";

const none: Key = {
  upArrow: false,
  downArrow: false,
  leftArrow: false,
  rightArrow: false,
  pageDown: false,
  pageUp: false,
  home: false,
  end: false,
  return: false,
  escape: false,
  ctrl: false,
  shift: false,
  tab: false,
  backspace: false,
  delete: false,
  meta: false,
  super: false,
  hyper: false,
  capsLock: false,
  numLock: false,
};
const keys = (input: string, key: Partial<Key> = {}): readonly string[] =>
  readInput(input, { ...none, ...key }).map((event) => (event.kind === "key" ? event.key : event.kind));

describe("input", () => {
  it("has names", () => {
    expect(keys("", { upArrow: true })).toEqual(["up"]);
    expect(keys("", { leftArrow: true, shift: true })).toEqual(["shift+left"]);
    expect(keys("", { tab: true, shift: true })).toEqual(["shift+tab"]);
    expect(keys("", { escape: true, meta: true })).toEqual(["esc"]);
    expect(keys("", { delete: true })).toEqual(["backspace"]);
    expect(keys("c", { ctrl: true })).toEqual(["ctrl+c"]);
    expect(keys("G", { shift: true })).toEqual(["G"]);
  });

  it("comes key by key, even when many come at once", () => {
    expect(keys("jjk")).toEqual(["j", "j", "k"]);
    expect(keys("/conv\r")).toEqual(["/", "c", "o", "n", "v", "enter"]);
    expect(keys("Open[1]")).toEqual([..."Open[1]"]);
    expect(keys("a宽b")).toEqual(["a", "宽", "b"]);
  });

  it("drops what means nothing", () => {
    expect(keys("[200~", {})).toEqual([]);
    expect(keys("x", { meta: true })).toEqual([]);
    expect(keys("\u0001\u0000")).toEqual([]);
  });

  it("tells presses and the wheel of the mouse, and nothing else of it", () => {
    expect(readInput("[<0;11;5M", none)).toEqual([{ kind: "press", x: 10, y: 4 }]);
    expect(readInput("[<64;200;60M", none)).toEqual([{ kind: "wheel", steps: -1, x: 199, y: 59 }]);
    expect(readInput("[<65;1;1M", none)).toEqual([{ kind: "wheel", steps: 1, x: 0, y: 0 }]);
    expect(readInput("[<0;11;5m", none)).toEqual([]);
    expect(readInput("[<2;11;5M", none)).toEqual([]);
    expect(readInput("[<35;11;5M", none)).toEqual([]);
  });
});
