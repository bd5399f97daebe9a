import type { Residency } from "./backend.js";

/** The residency of data that is an array of JavaScript's, which the garbage collector takes when nobody has it any more. */
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
