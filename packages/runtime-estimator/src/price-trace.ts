import { type DeviceSpec, type OpIndex, RuntimeSource, Trace } from "@remat/trace";
import { type CostOptions, computeDtype, type OpCall } from "./op-call.js";
import { opCost } from "./op-cost.js";
import { groupOps, opCallOf } from "./op-signatures.js";
import { launchFactorsOf, type OpTime, opTime } from "./op-time.js";
import type { RooflineOptions } from "./roofline.js";

/**
 * Returns a copy of `trace` with every op estimated for `device`: by the measured speeds of a calibrated device,
 * otherwise by the roofline model. It fills the columns `runtimeMs`, `runtimeSource`, `flops`, `bytesRead` and
 * `bytesWritten`, including those of runs recorded in other dtypes. If the device is calibrated, `runtimeSpreadMs` is
 * the expected error. A calibration applies to steps of its backend. Existing FLOPs and bytes are kept and used, so that
 * an op without a formula can also be estimated for another device. Existing runtimes are replaced. With `asPytorch`, all
 * FLOPs and bytes come from PyTorch's formulas.
 *
 * Needs no framework. The time is linear in the number of ops, and ops with equal cost are estimated once.
 *
 * @example
 * const onH100 = priceTrace(await readTrace(bytes), deviceSpec("h100"));
 */
export function priceTrace(trace: Trace, device: DeviceSpec, options: CostOptions = {}): Trace {
  const { ops } = trace;
  const roofline = { ...options, framework: trace.header.framework };
  const { ofOp, firstOp } = groupOps(trace);
  const usable = calibratedFor(trace.header.backend, device);
  const group = priceGroups(trace, firstOp, usable, roofline);
  const factors = launchFactorsOf(usable);
  const runtimeMs = new Float64Array(ops.count);
  const runtimeSpreadMs = new Float64Array(ops.count);
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
    const kept = computed ? undefined : priceKept(op, group.calls[g]);
    const launchMs = kept?.launchMs ?? group.launchMs[g];
    const workMs = kept?.workMs ?? group.workMs[g];
    runtimeMs[op] = workMs + launchMs * factors[ops.phase[op]];
    runtimeSpreadMs[op] = runtimeMs[op] * (kept?.error ?? group.error[g]);
  }
  const priced = trace.withRuntimes({
    runtimeMs,
    runtimeSource: new Uint8Array(ops.count).fill(RuntimeSource.roofline),
    runtimeSpreadMs,
    runtimeRuns: new Int32Array(ops.count),
    flops,
    bytesRead,
    bytesWritten,
  });
  if (trace.recordedIn.size === 0) return priced;
  const recordedIn = Array.from(trace.recordedIn, ([dtype, run]) => [dtype, priceTrace(run, device, options)] as const);
  return new Trace({ ...priced, recordedIn: new Map(recordedIn) });

  function priceKept(op: OpIndex, call: OpCall): OpTime {
    const dtype = computeDtype(call);
    const cost = { flops: flops[op], bytesRead: bytesRead[op], bytesWritten: bytesWritten[op], dtype };
    return opTime(call, cost, usable, roofline);
  }
}

/**
 * Returns the call of each group, with its cost and time computed by formulas. The result is in columns, so that the
 * pass over ops allocates no objects.
 */
function priceGroups(trace: Trace, firstOp: readonly number[], device: DeviceSpec, options: RooflineOptions) {
  const column = () => new Float64Array(firstOp.length);
  const calls = firstOp.map((op) => opCallOf(trace, op));
  const group = {
    calls,
    flops: column(),
    bytesRead: column(),
    bytesWritten: column(),
    launchMs: column(),
    workMs: column(),
    error: column(),
  };
  for (let g = 0; g < firstOp.length; g++) {
    const call = calls[g];
    const cost = opCost(call, trace.header.framework, options);
    const { launchMs, workMs, error } = opTime(call, cost, device, options);
    group.flops[g] = cost.flops;
    group.bytesRead[g] = cost.bytesRead;
    group.bytesWritten[g] = cost.bytesWritten;
    group.launchMs[g] = launchMs;
    group.workMs[g] = workMs;
    group.error[g] = error;
  }
  return group;
}

/** Returns the device without its measured speeds if they are of another backend. */
function calibratedFor(backend: string | undefined, device: DeviceSpec): DeviceSpec {
  if (device.calibration === undefined || device.calibration.backend === backend) return device;
  const { calibration: _, kernels: __, ...roofline } = device;
  return roofline;
}
