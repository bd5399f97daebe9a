import { type DeviceSpec, type OpIndex, RuntimeSource, Trace } from "@remat/trace";
import { computeDtype } from "./op-call.js";
import { opCost } from "./op-cost.js";
import { groupOps, opCallOf } from "./op-signatures.js";
import { rooflineMs } from "./roofline.js";

/**
 * Returns `trace` with every op priced for `device` by the roofline model: a copy whose columns `runtimeMs`, `runtimeSource`, `flops`,
 * `bytesRead` and `bytesWritten` are filled. FLOPs and bytes that the trace already holds are kept and priced as they are, so an op
 * without a formula can be priced for another device too; they are computed where they are missing. Earlier runtimes are replaced.
 * What was recorded in other dtypes is priced, too. Needs no framework. Linear in the number of ops; ops that are alike are priced once.
 *
 * @example
 * const onH100 = priceTrace(await readTrace(bytes), deviceSpec("h100"));
 */
export function priceTrace(trace: Trace, device: DeviceSpec): Trace {
  const { ops } = trace;
  const { ofOp, firstOp } = groupOps(trace);
  const group = priceGroups(trace, firstOp, device);
  const runtimeMs = new Float64Array(ops.count);
  const flops = ops.flops.slice();
  const bytesRead = ops.bytesRead.slice();
  const bytesWritten = ops.bytesWritten.slice();
  for (let op = 0; op < ops.count; op++) {
    const g = ofOp[op];
    // NaN, that is unknown, is what differs from itself.
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
  const recordedIn = Array.from(trace.recordedIn, ([dtype, run]) => [dtype, priceTrace(run, device)] as const);
  return new Trace({ ...priced, recordedIn: new Map(recordedIn) });

  function priceKept(op: OpIndex): number {
    const dtype = computeDtype(opCallOf(trace, op));
    return rooflineMs({ flops: flops[op], bytesRead: bytesRead[op], bytesWritten: bytesWritten[op], dtype }, device);
  }
}

/** Costs and milliseconds of one op of each group, by formula. In columns, so that the pass over ops touches no object. */
function priceGroups(trace: Trace, firstOp: readonly number[], device: DeviceSpec) {
  const column = () => new Float64Array(firstOp.length);
  const group = { flops: column(), bytesRead: column(), bytesWritten: column(), runtimeMs: column() };
  for (let g = 0; g < firstOp.length; g++) {
    const cost = opCost(opCallOf(trace, firstOp[g]), trace.header.framework);
    group.flops[g] = cost.flops;
    group.bytesRead[g] = cost.bytesRead;
    group.bytesWritten[g] = cost.bytesWritten;
    group.runtimeMs[g] = rooflineMs(cost, device);
  }
  return group;
}
