import type { Key } from "ink";

/** Input from the terminal: a key by name, or the mouse. Columns and rows count from 0. */
export type InputEvent =
  | { readonly kind: "key"; readonly key: string }
  | { readonly kind: "press"; readonly x: number; readonly y: number }
  | { readonly kind: "wheel"; readonly steps: 1 | -1; readonly x: number; readonly y: number };

/** SGR mouse report, without its escape character: button; column; row; M for down, m for up. */
const mouse = /^\[<(\d+);(\d+);(\d+)([Mm])$/;

/**
 * Converts input read by Ink to the names of the key map. Several keys at once (held down, or pasted) become single
 * events. Unknown sequences are dropped.
 */
export function readInput(input: string, key: Key): readonly InputEvent[] {
  const report = mouse.exec(input);
  if (report !== null) return mouseEvent(report);
  const named = namedKey(input, key);
  if (named !== undefined) return [{ kind: "key", key: named }];
  if (key.ctrl && input.length === 1) return [{ kind: "key", key: `ctrl+${input}` }];
  // The rest of an escape sequence that neither Ink nor this app knows.
  if (key.meta || /^(\[[\d;:?<=>]*[ -/]*[@-~]|O[A-Za-z])$/.test(input)) return [];
  return Array.from(input, (character): InputEvent => ({ kind: "key", key: controlKey(character) })).filter(
    (event) => event.kind === "key" && !/\p{Cc}/u.test(event.key),
  );
}

function namedKey(input: string, key: Key): string | undefined {
  if (key.leftArrow) return key.shift ? "shift+left" : "left";
  if (key.rightArrow) return key.shift ? "shift+right" : "right";
  if (key.upArrow) return "up";
  if (key.downArrow) return "down";
  if (key.pageUp) return "pageup";
  if (key.pageDown) return "pagedown";
  if (key.home) return "home";
  if (key.end) return "end";
  if (key.return) return "enter";
  if (key.escape) return "esc";
  if (key.tab) return key.shift ? "shift+tab" : "tab";
  // Most keyboards send a code for backspace that Ink calls "delete".
  if (key.backspace || key.delete) return "backspace";
  return input === " " ? " " : undefined;
}

function controlKey(character: string): string {
  if (character === "\r" || character === "\n") return "enter";
  if (character === "\t") return "tab";
  if (character === "\u0003") return "ctrl+c";
  return character;
}

function mouseEvent([, code, column, line, state]: RegExpExecArray): readonly InputEvent[] {
  const button = Number(code);
  const at = { x: Number(column) - 1, y: Number(line) - 1 };
  if (button === 64 || button === 65) return [{ kind: "wheel", steps: button === 64 ? -1 : 1, ...at }];
  // The left button, without modifiers or motion.
  return button === 0 && state === "M" ? [{ kind: "press", ...at }] : [];
}
