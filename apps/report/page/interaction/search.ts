import { h } from "../dom.js";
import type { SearchAnswer } from "../engine/answers.js";
import { latest } from "../latest.js";
import type { PageContext } from "../page-context.js";

/**
 * Mounts the search over modules and ops. Enter goes to the next result, Shift+Enter to the previous one. `/` and
 * Ctrl+F focus it.
 */
export function mountSearch({ engine, store }: PageContext): HTMLElement {
  const ask = latest();
  const status = h("span", { class: "note", role: "status" });
  const input = h("input", {
    type: "search",
    id: "search",
    "aria-label": "Search modules and ops",
    placeholder: "Search  /",
    autocomplete: "off",
    spellcheck: "false",
  });
  let found: SearchAnswer = { modules: [], ops: new Int32Array(0) };
  let at = -1;
  let searched = "";
  /** Resolves when the current search has results. */
  let answered = Promise.resolve();
  const total = (): number => found.modules.length + found.ops.length;
  const tell = (): void => {
    const count = total();
    status.textContent =
      input.value.trim() === ""
        ? ""
        : count === 0
          ? "none"
          : `${at < 0 ? "" : `${(at + 1).toLocaleString("en")} of `}${count.toLocaleString("en")}`;
  };
  const search = (): void => {
    searched = input.value;
    at = -1;
    answered = new Promise((resolve) =>
      ask(
        () => engine.search(searched),
        (answer) => {
          found = answer;
          tell();
          resolve();
        },
      ),
    );
  };
  const go = async (step: number): Promise<void> => {
    if (searched !== input.value) search();
    // A fast typist presses Enter before there are results.
    await answered;
    const count = total();
    if (count === 0) return;
    at = (at + step + count + (at < 0 && step < 0 ? 1 : 0)) % count;
    tell();
    if (at < found.modules.length) {
      store.update({ module: found.modules[at] });
      show("modules");
    } else {
      // A module or filter may hide the op from the table.
      store.update({ op: found.ops[at - found.modules.length], module: "", filter: "", marks: 0, phase: -1, fate: -1 });
      show("ops");
    }
  };
  let waiting = 0;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = window.setTimeout(search, 150);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      clearTimeout(waiting);
      void go(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      input.value = "";
      search();
    }
  });
  addEventListener("keydown", (event) => {
    const isTyping =
      event.target instanceof HTMLElement &&
      event.target.matches("input:not([type=range], [type=radio], [type=checkbox]), select, textarea");
    const isFind =
      (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "f";
    if (!isFind && !(event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey)) return;
    // A second Ctrl+F opens the browser's own search.
    if (isFind && document.activeElement === input) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  return h("div", { class: "search", role: "search" }, input, status);
}

/** Scrolls to a section without moving the focus from the search. */
function show(id: string): void {
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  document.getElementById(id)?.scrollIntoView({ behavior: isCalm ? "auto" : "smooth", block: "start" });
}
