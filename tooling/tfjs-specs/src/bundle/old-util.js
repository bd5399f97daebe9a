// Node's `util` with what tfjs-node imports of it by name, and Node 23 removed.
export * from "node:util";
export { default } from "node:util";

export const { isArray } = Array;
export const isNullOrUndefined = (value) => value === null || value === undefined;
