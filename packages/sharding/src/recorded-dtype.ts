import { row, type Trace } from "@remat/trace";
import { rootModule } from "./match-modules.js";
import { isOutputRead } from "./output-casts.js";
import { type OwnCast, ownCastsIn } from "./own-casts.js";
import { type ShardedUnit, shardedUnits } from "./sharded-units.js";
import { elementBytes, type GroupPolicy, isFloatDtype, type ShardingPlan } from "./sharding-plan.js";
import { usualWrap } from "./usual-wrap.js";

/** The step as it was recorded in the dtype that a plan computes in, with the plan as it is told of that run. */
interface RecordedForPlan {
  readonly dtype: string;
  readonly trace: Trace;
  readonly plan: ShardingPlan;
}

/** Why the plan is simulated on the run in the parameters' own dtype, with what the other shows of the model's own casts. */
interface PassedOver {
  readonly passedOver: string;
  readonly plan: ShardingPlan;
}

/**
 * Returns the step as it was recorded in the dtype that all groups of the plan compute in, or in one that takes as much; why that is passed over where the plan says what only a run in the parameters' own dtype can be told: groups of several
 * dtypes, parameters that are left as they are, what is cast; undefined where there is no such recording.
 *
 * @throws RematError `SHARDING_PLAN` for groups that cannot be
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
  // What the root returns and nobody reads is copied, and nothing else is changed by that.
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
  // The recording is of the same device, in the units that were asked for.
  const run = trace.recordedIn.get(dtype)!.withHeader(trace.header);
  const mixedPrecision = { ...plan.mixedPrecision, param: dtype };
  return { dtype, trace: run, plan: { ...plan, mixedPrecision, storedDtype } };
}

/** In a plan whose lower dtype was not recorded, one that was and takes as many bytes: `float16` is told by a run in `bfloat16`. */
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
  const why = `${reasons.join(" and ")}${reasons[0].endsWith("=") ? " can be told only of the other" : ""}`;
  const without = reasons.every((reason) => reason === "cast=" || reason === "own-casts=")
    ? `; without ${reasons.join(" and ")} the plan is simulated on the one that shows what the code casts`
    : "";
  const shown = reasons.includes("own-casts=")
    ? ""
    : `; what the model's own code casts to float32 is as the other shows it: ${ownCasts.join(", ") || "nothing"}`;
  return `Of the step as recorded in ${own} and in ${dtype} this is of the one in ${own}, since ${why}${shown}${without}.`;
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
