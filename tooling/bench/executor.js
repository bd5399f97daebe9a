// Cost of early release, a budget and a plan: CPU time of a forward and backward pass of tiny tensors, per op, and what
// JavaScript allocates. Kernels that a plan recomputes count as ops.
// Usage: node tooling/bench/executor.js
import { fileURLToPath } from "node:url";
import { executorOverheads } from "./src/executor-overhead.js";
import { packagesOf } from "./src/headlines.js";
import { report } from "./src/report.js";

const boundUsPerOp = 2;

const root = fileURLToPath(new URL("../..", import.meta.url));
const { unmodified, released, budgeted, planned } = await executorOverheads(packagesOf(root));

report({ what: "executor: unmodified step", value: unmodified.usPerOp, unit: "µs per op", runs: unmodified.runs });
for (const [what, one, base] of [
  ["early release, over the unmodified step", released, unmodified],
  ["a budget of 100%, over early release", budgeted, released],
  ["a plan that recomputes, over early release", planned, released],
]) {
  const isBound = one !== released;
  report({
    what: `executor: ${what}`,
    value: one.usPerOp - base.usPerOp,
    unit: "µs per op",
    runs: one.runs,
    ...(isBound && { bound: boundUsPerOp }),
  });
  report({ what: `executor: allocations of ${what}`, value: one.bytesPerOp - base.bytesPerOp, unit: "bytes per op" });
}
