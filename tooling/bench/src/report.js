import { describeRow } from "./rows.js";

/**
 * Tells one figure: to `bench.js` where that runs the suite, else to the terminal. A row is
 * {what, value, unit, cpu?, runs?, theirs?, bound?, note?}; the smaller the value the better, `cpu` is in the same unit.
 */
export function report(row) {
  if (process.send === undefined) console.log(describeRow(row));
  else process.send(row);
}
