import type { Residency } from "./backend.js";

/** The residency of data in JavaScript arrays, which the garbage collector frees. */
export const javascriptResidency: Residency = {
  release(entry) {
    entry.values = undefined;
  },
  move(from, to) {
    to.values = from.values;
    from.values = undefined;
  },
  valuesOf: ({ values }) => values,
  restore(entry, values) {
    entry.values = values;
  },
};
