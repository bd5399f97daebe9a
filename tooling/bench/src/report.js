import { describeRow } from "./rows.js";

/**
 * Reports one figure: to `bench.js` if that runs the suite, otherwise to the terminal. A row is {what, value, unit,
 * cpu?, runs?, theirs?, bound?, note?}. Smaller values are better. `cpu` is in the same unit.
 */
export function report(row) {
  if (process.send === undefined) console.log(describeRow(row));
  else process.send(row);
}
