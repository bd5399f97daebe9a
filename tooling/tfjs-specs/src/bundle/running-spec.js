import { AsyncLocalStorage } from "node:async_hooks";

/** Jasmine's id of the running spec, and for asynchronous work, of the spec that started it. */
export const runningSpec = { id: undefined, ofWork: new AsyncLocalStorage() };
