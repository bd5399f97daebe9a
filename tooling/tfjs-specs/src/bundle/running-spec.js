import { AsyncLocalStorage } from "node:async_hooks";

/** `id`: jasmine's id of the running spec. `ofWork`: the id of the spec that started the running asynchronous work. */
export const runningSpec = { id: undefined, ofWork: new AsyncLocalStorage() };
