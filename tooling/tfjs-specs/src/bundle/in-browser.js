// What the specs ask of Node, in a page: the mode comes in the page's address, what came of the specs is global.
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

/** A page cannot tell whose work goes on later. */
export class AsyncLocalStorage {
  run(_store, work) {
    return work();
  }
  getStore() {
    return undefined;
  }
}
