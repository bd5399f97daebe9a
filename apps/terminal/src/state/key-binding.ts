/** Keys with the same action. */
export interface KeyBinding<Action extends string = string> {
  /** Names as in `readInput`: a character, or `up`, `enter`, `ctrl+c`. */
  readonly keys: readonly string[];
  /** The action that the keys trigger. */
  readonly action: Action;
  /** Description in the help. */
  readonly help: string;
  /** Label in the bottom line. Left out: not shown there. */
  readonly hint?: string;
  /** Keys as written in the bottom line. Left out: the first one. */
  readonly hintKeys?: string;
}

/** Returns the binding of a key. */
export function bindingOf<Action extends string>(
  bindings: readonly KeyBinding<Action>[],
  key: string,
): KeyBinding<Action> | undefined {
  return bindings.find(({ keys }) => keys.includes(key));
}

/** Returns the display name of a key. */
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
