import { AsyncLocalStorage } from "node:async_hooks";

/** Jasmine's id of the spec that runs; and, by asynchronous work, of the spec that has begun it. */
export const runningSpec = { id: undefined, ofWork: new AsyncLocalStorage() };
