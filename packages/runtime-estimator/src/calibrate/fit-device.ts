import type { KernelSpeed, Trace } from "@remat/trace";
import { kernelClasses, speedKeys } from "../calibrated/kernel-class.js";
import { opCost } from "../op-cost.js";
import { groupOps, opCallOf } from "../op-signatures.js";
import { fitSpeed, type MeasuredCall, median } from "./fit-speed.js";

/** Speeds of all measured kernels. */
export interface FittedSpeeds {
  readonly kernels: Readonly<Record<string, KernelSpeed>>;
  readonly cacheBytes: number;
  /** Median relative error of calls that their fit had not seen. */
  readonly error: number;
}

/** Cache sizes to try: of one core's L2 up to a large L3. */
const cacheSizes = [2 ** 18, 2 ** 20, 2 ** 22, 2 ** 24];

/** Fits the speed of each kernel, of the kinds of its calls, and of each class to the measured times of a trace. */
export function fitDevice(timed: Trace): FittedSpeeds {
  const calls = callsByKey(timed);
  return cacheSizes
    .map((cacheBytes) => fitKernels(calls, cacheBytes))
    .reduce((best, each) => (each.error < best.error ? each : best));
}

/** Distinct calls by each name of `speedKeys`. A call that ran several times counts once, with its median time. */
function callsByKey(timed: Trace): ReadonlyMap<string, readonly MeasuredCall[]> {
  const { ofOp, firstOp } = groupOps(timed);
  const times: number[][] = firstOp.map(() => []);
  for (let op = 0; op < timed.ops.count; op++) times[ofOp[op]].push(timed.ops.runtimeMs[op]);
  const byKey = new Map<string, MeasuredCall[]>();
  for (const [group, op] of firstOp.entries()) {
    const call = opCallOf(timed, op);
    const ms = median(times[group]);
    if (!(ms > 0)) continue;
    const measured = { ...opCost(call, timed.header.framework), ms };
    for (const key of speedKeys(call)) {
      const list = byKey.get(key);
      if (list === undefined) byKey.set(key, [measured]);
      else list.push(measured);
    }
  }
  return byKey;
}

function fitKernels(calls: ReadonlyMap<string, readonly MeasuredCall[]>, cacheBytes: number): FittedSpeeds {
  const fitted = [...calls].flatMap(([key, list]) => {
    const speed = fitSpeed(list, cacheBytes);
    return speed === undefined ? [] : [[key, speed] as const];
  });
  const ownKernels = fitted.filter(([key]) => !kernelClasses.includes(key));
  return {
    kernels: Object.fromEntries(fitted),
    cacheBytes,
    error: median(
      (ownKernels.length > 0 ? ownKernels : fitted).flatMap(([, { error, calls }]) =>
        Array.from({ length: calls }, () => error),
      ),
    ),
  };
}
