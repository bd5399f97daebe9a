import { row, type Trace } from "@remat/trace";
import { isFloatDtype, type ShardingPlan } from "./sharding-plan.js";

/**
 * Returns the step as it was recorded in the dtype that all groups of the plan compute in, and the plan as it is told of that run; undefined where there is no such recording, or the plan says what only a run in
 * the parameters' own dtype can be told: groups of several dtypes, parameters that are left as they are, what is cast.
 */
export function recordedForPlan(trace: Trace, plan: ShardingPlan): { trace: Trace; plan: ShardingPlan } | undefined {
  const { mixedPrecision: { param, output = param, explicitCasts = [] } = {}, groups = [], ignored = [] } = plan;
  const run = param === undefined ? undefined : trace.recordedIn.get(param);
  const storedDtype = plan.storedDtype ?? weightsDtype(trace);
  const isOfOwnDtype =
    plan.strategy !== undefined ||
    plan.ownCasts !== undefined ||
    output !== param ||
    explicitCasts.length > 0 ||
    ignored.length > 0 ||
    groups.some(({ mixedPrecision }) => mixedPrecision !== undefined);
  if (run === undefined || storedDtype === undefined || isOfOwnDtype) return undefined;
  // The recording is of the same device, in the units that were asked for.
  return { trace: run.withHeader(trace.header), plan: { ...plan, storedDtype } };
}

/** That of the first weights in floating-point numbers. */
function weightsDtype(trace: Trace): string | undefined {
  for (let i = 0; i < trace.weights.count; i++)
    for (const tensor of row(trace.weights.parameters, i)) {
      const dtype = trace.tensorDtype(tensor);
      if (isFloatDtype(dtype)) return dtype;
    }
  return undefined;
}
