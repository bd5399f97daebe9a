/** Keys that do the same, and what that is. */
export interface KeyBinding<Action extends string = string> {
  /** As `readInput` names them: a character, or `up`, `enter`, `ctrl+c`. */
  readonly keys: readonly string[];
  readonly action: Action;
  /** What it does, in the help. */
  readonly help: string;
  /** What the line at the bottom calls it; left out: it is not there. */
  readonly hint?: string;
  /** How that line writes the keys; left out: the first of them. */
  readonly hintKeys?: string;
}

/** Returns what a key does, by some bindings. */
export function bindingOf<Action extends string>(
  bindings: readonly KeyBinding<Action>[],
  key: string,
): KeyBinding<Action> | undefined {
  return bindings.find(({ keys }) => keys.includes(key));
}

/** Returns how a key is written for people. */
export function keyLabel(key: string): string {
  const names: Readonly<Record<string, string>> = {
    " ": "Space",
    up: "Up",
    down: "Down",
    left: "Left",
    right: "Right",
    "shift+left": "Shift-Left",
    "shift+right": "Shift-Right",
    "shift+tab": "Shift-Tab",
    tab: "Tab",
    enter: "Enter",
    esc: "Esc",
    backspace: "Backspace",
    pageup: "PgUp",
    pagedown: "PgDn",
    home: "Home",
    end: "End",
  };
  return names[key] ?? key.replace(/^ctrl\+(.)$/, (_all, letter: string) => `Ctrl-${letter.toUpperCase()}`);
}
