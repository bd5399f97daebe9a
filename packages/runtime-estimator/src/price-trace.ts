import { type DeviceSpec, type OpIndex, RuntimeSource, Trace } from "@remat/trace";
import { type CostOptions, computeDtype } from "./op-call.js";
import { opCost } from "./op-cost.js";
import { groupOps, opCallOf } from "./op-signatures.js";
import { rooflineMs } from "./roofline.js";

/**
 * Returns a copy of `trace` with every op estimated for `device` by the roofline model. It fills the columns
 * `runtimeMs`, `runtimeSource`, `flops`, `bytesRead` and `bytesWritten`, including those of runs recorded in other
 * dtypes. Existing FLOPs and bytes are kept and used, so that an op without a formula can also be estimated for another
 * device. Existing runtimes are replaced. With `asPytorch`, all FLOPs and bytes come from PyTorch's formulas.
 *
 * Needs no framework. The time is linear in the number of ops, and ops with equal cost are estimated once.
 *
 * @example
 * const onH100 = priceTrace(await readTrace(bytes), deviceSpec("h100"));
 */
export function priceTrace(trace: Trace, device: DeviceSpec, options: CostOptions = {}): Trace {
  const { ops } = trace;
  const { ofOp, firstOp } = groupOps(trace);
  const group = priceGroups(trace, firstOp, device, options);
  const runtimeMs = new Float64Array(ops.count);
  const keep = (column: Float64Array): Float64Array =>
    options.asPytorch === true ? new Float64Array(ops.count).fill(Number.NaN) : column.slice();
  const [flops, bytesRead, bytesWritten] = [ops.flops, ops.bytesRead, ops.bytesWritten].map(keep);
  for (let op = 0; op < ops.count; op++) {
    const g = ofOp[op];
    // Only NaN, which stands for unknown, differs from itself.
    if (flops[op] !== flops[op]) flops[op] = group.flops[g];
    if (bytesRead[op] !== bytesRead[op]) bytesRead[op] = group.bytesRead[g];
    if (bytesWritten[op] !== bytesWritten[op]) bytesWritten[op] = group.bytesWritten[g];
    const computed =
      flops[op] === group.flops[g] &&
      bytesRead[op] === group.bytesRead[g] &&
      bytesWritten[op] === group.bytesWritten[g];
    runtimeMs[op] = computed ? group.runtimeMs[g] : priceKept(op);
  }
  const priced = trace.withRuntimes({
    runtimeMs,
    runtimeSource: new Uint8Array(ops.count).fill(RuntimeSource.roofline),
    runtimeSpreadMs: new Float64Array(ops.count).fill(Number.NaN),
    runtimeRuns: new Int32Array(ops.count),
    flops,
    bytesRead,
    bytesWritten,
  });
  if (trace.recordedIn.size === 0) return priced;
  const recordedIn = Array.from(trace.recordedIn, ([dtype, run]) => [dtype, priceTrace(run, device, options)] as const);
  return new Trace({ ...priced, recordedIn: new Map(recordedIn) });

  function priceKept(op: OpIndex): number {
    const dtype = computeDtype(opCallOf(trace, op));
    const cost = { flops: flops[op], bytesRead: bytesRead[op], bytesWritten: bytesWritten[op], dtype };
    return rooflineMs(cost, device, options);
  }
}

/**
 * Returns cost and time of one op of each group, computed by formulas. The result is in columns, so that the pass over
 * ops allocates no objects.
 */
function priceGroups(trace: Trace, firstOp: readonly number[], device: DeviceSpec, options: CostOptions) {
  const column = () => new Float64Array(firstOp.length);
  const group = { flops: column(), bytesRead: column(), bytesWritten: column(), runtimeMs: column() };
  for (let g = 0; g < firstOp.length; g++) {
    const cost = opCost(opCallOf(trace, firstOp[g]), trace.header.framework, options);
    group.flops[g] = cost.flops;
    group.bytesRead[g] = cost.bytesRead;
    group.bytesWritten[g] = cost.bytesWritten;
    group.runtimeMs[g] = rooflineMs(cost, device, options);
  }
  return group;
}
