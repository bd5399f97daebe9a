import { type DeviceSpec, RuntimeSource, type Trace } from "@remat/trace";
import { computeDtype, type OpCost } from "./op-call.js";
import { opCost } from "./op-cost.js";
import { groupOps, opCallOf } from "./op-signatures.js";
import { rooflineMs } from "./roofline.js";

/**
 * `trace` with every op priced for `device` by the roofline model: a copy whose columns `runtimeMs`, `runtimeSource`, `flops`,
 * `bytesRead` and `bytesWritten` are filled. FLOPs and bytes that the trace already holds are kept and priced as they are, so an op
 * without a formula can be priced for another device too; they are computed where they are missing. Earlier runtimes are replaced.
 * Needs no framework. Linear in the number of ops; ops that are alike are priced once.
 *
 * @example
 * const onH100 = priceTrace(readTrace(bytes), deviceSpec("h100-sxm"));
 */
export function priceTrace(trace: Trace, device: DeviceSpec): Trace {
  const { ops } = trace;
  const { count } = ops;
  const { ofOp, firstOp } = groupOps(trace);
  const priced = firstOp.map((op): PricedCost => {
    const cost = opCost(opCallOf(trace, op), trace.header.framework);
    return { ...cost, runtimeMs: rooflineMs(cost, device) };
  });
  const runtimeMs = new Float64Array(count);
  const flops = ops.flops.slice();
  const bytesRead = ops.bytesRead.slice();
  const bytesWritten = ops.bytesWritten.slice();
  for (let op = 0; op < count; op++) {
    const cost = priced[ofOp[op]];
    if (Number.isNaN(flops[op])) flops[op] = cost.flops;
    if (Number.isNaN(bytesRead[op])) bytesRead[op] = cost.bytesRead;
    if (Number.isNaN(bytesWritten[op])) bytesWritten[op] = cost.bytesWritten;
    runtimeMs[op] =
      flops[op] === cost.flops && bytesRead[op] === cost.bytesRead && bytesWritten[op] === cost.bytesWritten
        ? cost.runtimeMs
        : priceKept(op);
  }
  return trace.withRuntimes({
    runtimeMs,
    runtimeSource: new Uint8Array(count).fill(RuntimeSource.roofline),
    runtimeSpreadMs: new Float64Array(count).fill(Number.NaN),
    runtimeRuns: new Int32Array(count),
    flops,
    bytesRead,
    bytesWritten,
  });

  function priceKept(op: number): number {
    const dtype = computeDtype(opCallOf(trace, op));
    return rooflineMs({ flops: flops[op], bytesRead: bytesRead[op], bytesWritten: bytesWritten[op], dtype }, device);
  }
}

interface PricedCost extends OpCost {
  readonly runtimeMs: number;
}
