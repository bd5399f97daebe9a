import { row, type Trace } from "@remat/trace";
import { rootModule } from "./match-modules.js";
import { isOutputRead } from "./output-casts.js";
import { type OwnCast, ownCastsIn } from "./own-casts.js";
import { type ShardedUnit, shardedUnits } from "./sharded-units.js";
import { elementBytes, type GroupPolicy, isFloatDtype, type ShardingPlan } from "./sharding-plan.js";
import { usualWrap } from "./usual-wrap.js";

/**
 * The recording of the step in the dtype that a plan computes in, with the plan in the form that fits that recording.
 */
interface RecordedForPlan {
  readonly dtype: string;
  readonly trace: Trace;
  readonly plan: ShardingPlan;
}

/**
 * The reason why a plan is simulated on the run in the parameters' own dtype. The plan includes the casts of the
 * model's code that the other run shows.
 */
interface PassedOver {
  readonly passedOver: string;
  readonly plan: ShardingPlan;
}

/**
 * Returns the recording of the step in the dtype that all groups of the plan compute in, or in a dtype of the same
 * size.
 *
 * It returns undefined if there is no such recording. If the plan needs a run in the parameters' own dtype, it returns
 * the reason instead. This applies to plans with groups of several dtypes, ignored parameters, or explicit casts.
 *
 * @throws RematError `SHARDING_PLAN` for impossible groups
 */
export function recordedForPlan(trace: Trace, given: ShardingPlan): RecordedForPlan | PassedOver | undefined {
  if (trace.recordedIn.size === 0 || given.strategy !== undefined) return undefined;
  const plan = inRecordedDtype(trace, given);
  const groups = [plan, ...(plan.groups ?? [])];
  const dtype = groups.map(({ mixedPrecision }) => mixedPrecision?.param).find((param) => trace.recordedIn.has(param!));
  const storedDtype = plan.storedDtype ?? weightsDtype(trace);
  if (dtype === undefined || storedDtype === undefined) return undefined;
  const wrapped = { ...plan, wrap: plan.wrap ?? usualWrap(trace) };
  const root = rootModule(trace);
  const units = shardedUnits(trace, wrapped, root);
  // A cast of an output that is not read only makes a copy.
  const isSame = ({ modules, policy }: ShardedUnit): boolean =>
    policy.mixedPrecision?.output === dtype || (modules.includes(root) && !isOutputRead(trace, root));
  const reasons = [
    ...(units.some(({ policy }) => policy.mixedPrecision?.param !== dtype)
      ? [`not all groups compute in ${dtype}`]
      : []),
    ...(units.some((unit) => unit.policy.mixedPrecision?.output !== undefined && !isSame(unit)) ? ["output="] : []),
    ...(groups.some(({ mixedPrecision }) => (mixedPrecision?.explicitCasts ?? []).length > 0) ? ["cast="] : []),
    ...((plan.ignored ?? []).length > 0 ? ["ignore="] : []),
    ...(plan.ownCasts === undefined ? [] : ["own-casts="]),
  ];
  if (reasons.length > 0) {
    const ownCasts = plan.ownCasts ?? ownCastsIn(trace.recordedIn.get(dtype)!);
    return { passedOver: passedOver(dtype, storedDtype, reasons, ownCasts), plan: { ...plan, ownCasts } };
  }
  // The recording is from the same device, and the header has the requested units.
  const run = trace.recordedIn.get(dtype)!.withHeader(trace.header);
  const mixedPrecision = { ...plan.mixedPrecision, param: dtype };
  return { dtype, trace: run, plan: { ...plan, mixedPrecision, storedDtype } };
}

/**
 * Returns the plan with its lower dtype replaced by a recorded one of the same size, if no recording in its own dtype
 * exists. A run in `bfloat16` thus serves for `float16`.
 */
function inRecordedDtype(trace: Trace, plan: ShardingPlan): ShardingPlan {
  const all = [plan, ...(plan.groups ?? [])].flatMap(({ mixedPrecision }) => mixedPrecision?.param ?? []);
  const own = weightsDtype(trace);
  const [asked, ...others] = [...new Set(all)].filter((dtype) => isFloatDtype(dtype) && dtype !== own);
  if (asked === undefined || others.length > 0 || trace.recordedIn.has(asked)) return plan;
  const alike = [...trace.recordedIn.keys()].find((dtype) => elementBytes(dtype) === elementBytes(asked));
  if (alike === undefined) return plan;
  const renamed = <T extends GroupPolicy>(policy: T): T => {
    const { mixedPrecision } = policy;
    if (mixedPrecision === undefined) return policy;
    const dtypes = (["param", "reduce", "output"] as const).filter((each) => mixedPrecision[each] === asked);
    return {
      ...policy,
      mixedPrecision: { ...mixedPrecision, ...Object.fromEntries(dtypes.map((each) => [each, alike])) },
    };
  };
  return { ...renamed(plan), ...(plan.groups && { groups: plan.groups.map(renamed) }) };
}

function passedOver(dtype: string, own: string, reasons: readonly string[], ownCasts: readonly OwnCast[]): string {
  const why = `${reasons.join(" and ")}${reasons[0].endsWith("=") ? " is supported only there" : ""}`;
  const without = reasons.every((reason) => reason === "cast=" || reason === "own-casts=")
    ? `; without ${reasons.join(" and ")}, the other recording would be used`
    : "";
  const shown = reasons.includes("own-casts=")
    ? ""
    : `; casts to float32 in the model's own code are taken from the other recording (${ownCasts.join(", ") || "none"})`;
  return `The step was recorded in ${own} and ${dtype}. The simulation uses the ${own} recording, because ${why}${shown}${without}.`;
}

/** Returns the dtype of the first floating-point weight. */
function weightsDtype(trace: Trace): string | undefined {
  for (let i = 0; i < trace.weights.count; i++)
    for (const tensor of row(trace.weights.parameters, i)) {
      const dtype = trace.tensorDtype(tensor);
      if (isFloatDtype(dtype)) return dtype;
    }
  return undefined;
}
