// Node's `util`, with the names that tfjs-node imports and Node 23 removed.
export * from "node:util";
export { default } from "node:util";

export const { isArray } = Array;
export const isNullOrUndefined = (value) => value === null || value === undefined;
