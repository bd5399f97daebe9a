// Replaces the parts of Node that the specs use in a page: the mode comes from the page's address, and the result of
// the specs is a global.
const told = new URLSearchParams(globalThis.location.search);

globalThis.process = {
  argv: ["", "", told.get("mode"), ""],
  listeners: () => [() => {}],
  prependListener() {},
  exit() {
    globalThis.isOver = true;
  },
};
globalThis.setImmediate ??= (callback) => setTimeout(() => callback());

/** @param {string} text */
export const writeFileSync = (_file, text) => {
  globalThis.specRun = text;
};

/** A page cannot attribute work that continues later. */
export class AsyncLocalStorage {
  run(_store, work) {
    return work();
  }
  getStore() {
    return undefined;
  }
}
