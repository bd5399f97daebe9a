import { nearestNames } from "@remat/trace";
import type { OwnCast } from "./own-casts.js";
import { parseRematScope } from "./remat-scope.js";
import { policyName } from "./save-rules.js";
import {
  type CheckpointedModules,
  checkShardingPlan,
  type GroupPolicy,
  type Prefetch,
  planError,
  type ShardingPlan,
} from "./sharding-plan.js";

const policyFlags: Readonly<Record<string, GroupPolicy>> = {
  reshard: { reshardAfterForward: true },
  "no-reshard": { reshardAfterForward: false },
  bf16: { mixedPrecision: { param: "bfloat16", reduce: "float32" } },
  fp16: { mixedPrecision: { param: "float16", reduce: "float32" } },
};
const policyKeys = ["reshard", "param", "reduce", "output", "cast"];
const planFlags: Readonly<Record<string, Partial<ShardingPlan>>> = {
  "no-reshard-after-backward": { reshardAfterBackward: false },
  offload: { cpuOffload: true },
  "sync-last": { gradientSync: "last" },
  "as-tracked": { asTracked: true },
  "no-wrap": { wrap: [] },
  ddp: { strategy: "ddp" },
  "bucket-view": { gradientAsBucketView: true },
};
const planKeys = [
  "world",
  "replicas",
  "rank",
  "wrap",
  "ignore",
  "forward-prefetch",
  "backward-prefetch",
  "no-unshard-in-backward",
  "checkpoint",
  "micro-batches",
  "zero",
  "bucket",
  "stored",
  "own-casts",
];

const allFlags = [...Object.keys(policyFlags), ...Object.keys(planFlags)];

/** Keys that may be given only once. */
const onceKeys = ["world", "replicas", "rank", "zero", "bucket", "micro-batches", "stored", "own-casts"];

/** Options of {@link parseShardingPlan}. */
export interface ParseShardingPlanOptions {
  /**
   * Reads a checkpoint setting from a file, for `checkpoint=FILE.json`. By default such a value is the name of a
   * module.
   */
  readonly checkpointFile?: (path: string) => readonly CheckpointedModules[];
}

/**
 * Returns a sharding plan from text, such as `world=8,wrap='layers.*',reshard,bf16,offload`.
 *
 * Ranks:
 *
 * - `world=N` is required. `rank=N` selects the rank to predict.
 * - `replicas=N` makes N replicas, each sharded over 1/N of the ranks (HSDP).
 * - `ddp`, `zero=1` or `zero=2` replaces FSDP. `bucket=N` (MiB) and `bucket-view` set its buckets.
 *
 * Modules:
 *
 * - `wrap=PATTERN` may be repeated and quoted. `wrap=A+B` shards modules as one. `no-wrap` or `wrap=` wraps the root
 *   alone.
 * - `ignore=PATTERN` leaves the parameters of modules unsharded.
 *
 * Policy for all modules, for some modules by `wrap=PATTERN(…)`, or for the root by `root(…)`:
 *
 * - `reshard`, `no-reshard` or `reshard=N` ranks.
 * - `bf16` or `fp16` parameters with `float32` reductions, or `param=DTYPE`, `reduce=DTYPE`, `output=DTYPE`.
 * - `cast=MODULE:DTYPE` is a cast in the model's own code.
 *
 * Schedule and memory:
 *
 * - `forward-prefetch=N`, `backward-prefetch=N`, or `MODULE>MODULE+MODULE` instead of N.
 * - `no-reshard-after-backward`, `no-unshard-in-backward=PATTERN`, `offload`.
 * - `micro-batches=N`, and `sync-last` to reduce gradients only after the last one.
 * - `checkpoint=PATTERN`, with `(save=OP+OP)` for selective checkpointing, may be repeated. It also takes
 *   `RematScope(…)` as in Keras, and `FILE.json` if the caller reads files.
 *
 * Recording:
 *
 * - `stored=DTYPE` is the dtype of shards, if the recorded model already computes in a lower dtype than the shards have.
 * - `own-casts=norm+softmax+loss` lists what the model's code computes in `float32` by itself. `own-casts=` alone means
 *   that it computes nothing in `float32`.
 * - `as-tracked` follows PyTorch's `FSDPMemTracker`.
 *
 * @throws RematError `SHARDING_PLAN`
 * @example
 * parseShardingPlan("world=8,wrap='layers.*',bf16"); // { worldSize: 8, wrap: ["layers.*"], mixedPrecision: { … } }
 */
export function parseShardingPlan(text: string, options: ParseShardingPlanOptions = {}): ShardingPlan {
  let plan: ShardingPlan = { worldSize: Number.NaN };
  const given = new Set<string>();
  for (const item of splitList(text, ",")) {
    const [, key] = /^([\w-]+)=/.exec(item) ?? [];
    if (key !== undefined && onceKeys.includes(key) && given.has(key))
      throw planError(`${key}= is given twice in ${JSON.stringify(text)}. Remove one of them.`);
    given.add(key ?? item);
    if (given.has("wrap") && given.has("no-wrap"))
      throw planError(`wrap= and no-wrap are both given in ${JSON.stringify(text)}. Remove one of them.`);
    plan = withItem(plan, item, options);
  }
  if (Number.isNaN(plan.worldSize))
    throw planError(`world= is missing in ${JSON.stringify(text)}. Add the number of ranks, such as world=8.`);
  checkShardingPlan(plan);
  return plan;
}

function withItem(plan: ShardingPlan, item: string, { checkpointFile }: ParseShardingPlanOptions): ShardingPlan {
  if (Object.hasOwn(planFlags, item)) return { ...plan, ...planFlags[item] };
  const root = /^root\s*\((.*)\)$/s.exec(item);
  if (root !== null) return withGroup(plan, [""], false, root[1]);
  const policy = withPolicyItem(plan, item);
  if (policy !== undefined) return policy;
  const at = item.indexOf("=");
  if (at < 0) throw unknownItem(item);
  const key = item.slice(0, at).trim();
  const value = item.slice(at + 1).trim();
  switch (key) {
    case "world":
      return { ...plan, worldSize: wholeNumber(key, value) };
    case "replicas":
      return { ...plan, replicas: wholeNumber(key, value) };
    case "rank":
      return { ...plan, rank: wholeNumber(key, value) };
    case "wrap":
      return withWrap(plan, value);
    case "ignore":
      return { ...plan, ignored: [...(plan.ignored ?? []), unquoted(value)] };
    case "forward-prefetch":
      return { ...plan, forwardPrefetch: withPrefetch(plan.forwardPrefetch, key, value) };
    case "backward-prefetch":
      return { ...plan, backwardPrefetch: withPrefetch(plan.backwardPrefetch, key, value) };
    case "no-unshard-in-backward":
      return { ...plan, keptShardedInBackward: [...(plan.keptShardedInBackward ?? []), unquoted(value)] };
    case "zero":
      if (value !== "1" && value !== "2")
        throw planError(
          `expected zero=1 or zero=2, found ${JSON.stringify(value)}. For ZeRO-3 remove it: FSDP is ZeRO-3.`,
        );
      return { ...plan, strategy: value === "1" ? "zero1" : "zero2" };
    case "bucket":
      return { ...plan, bucketBytes: wholeNumber(key, value) * 2 ** 20 };
    case "stored":
      return { ...plan, storedDtype: unquoted(value) };
    case "own-casts":
      return { ...plan, ownCasts: splitList(value, "+").map(unquoted) as OwnCast[] };
    case "micro-batches":
      return { ...plan, microBatches: wholeNumber(key, value) };
    case "checkpoint":
      return {
        ...plan,
        checkpoint: [
          ...(plan.checkpoint ?? []),
          ...(checkpointFile !== undefined && unquoted(value).endsWith(".json")
            ? checkpointFile(unquoted(value))
            : [checkpointedModules(value)]),
        ],
      };
    default:
      throw unknownItem(item);
  }
}

/**
 * Returns a checkpoint setting from text, as in `checkpoint=` of a plan: `layers.*`, or
 * `layers.0,layers.1(save=mm+addmm)`. If the text is only a policy of JAX, such as `dots_saveable`, it applies to each
 * repeated block.
 *
 * @throws RematError `SHARDING_PLAN`
 */
export function parseCheckpoint(text: string): readonly CheckpointedModules[] {
  // Rows of a comparison and sharding plans write the prefix.
  const items = splitList(text, ",").map((item) => item.replace(/^checkpoint=/, ""));
  if (items.length === 0) throw planError("checkpoint= names no modules. Name at least one, or a pattern.");
  return items.map(checkpointedModules);
}

function checkpointedModules(value: string): CheckpointedModules {
  const scope = parseRematScope(value);
  if (scope !== undefined)
    return { modules: [], scope, ...(scope.mode === "activations" && { save: ["all_but_activations"] }) };
  const [, named, how] = /^(.*?)(?:\(([^()]*)\))?$/s.exec(value) as RegExpExecArray;
  const policy = how === undefined ? policyName(unquoted(named)) : undefined;
  if (policy !== undefined) return { modules: [], save: [policy] };
  const modules = splitList(named, "+").map(unquoted);
  if (how === undefined) return { modules };
  const [, rules] = /^\s*(?:save|policy)\s*=\s*(.*)$/s.exec(how) ?? [];
  if (rules === undefined)
    throw planError(`unknown setting ${JSON.stringify(how)} in checkpoint=${named}. Expected save=mm+addmm.`);
  return { modules, save: splitList(rules, "+").map((rule) => policyName(unquoted(rule)) ?? unquoted(rule)) };
}

/** Returns the policy with one more item, or undefined if the item does not belong to a policy. */
function withPolicyItem<T extends GroupPolicy>(policy: T, item: string): T | undefined {
  const { mixedPrecision } = policy;
  if (Object.hasOwn(policyFlags, item)) {
    const flag = policyFlags[item];
    if (flag.reshardAfterForward !== undefined) refuseTwoReshards(policy, item, flag.reshardAfterForward);
    if (flag.mixedPrecision !== undefined) refuseTwoDtypes(policy, item, "param", flag.mixedPrecision.param);
    return {
      ...policy,
      ...flag,
      ...(flag.mixedPrecision !== undefined && { mixedPrecision: { ...mixedPrecision, ...flag.mixedPrecision } }),
    };
  }
  const at = item.indexOf("=");
  const key = item.slice(0, Math.max(0, at)).trim();
  const value = unquoted(item.slice(at + 1).trim());
  switch (key) {
    case "reshard":
      refuseTwoReshards(policy, item, wholeNumber(key, value));
      return { ...policy, reshardAfterForward: wholeNumber(key, value) };
    case "param":
    case "output":
      refuseTwoDtypes(policy, item, key, value);
      return { ...policy, mixedPrecision: { ...mixedPrecision, [key]: value } };
    case "reduce":
      return { ...policy, mixedPrecision: { ...mixedPrecision, [key]: value } };
    case "cast": {
      const colon = value.lastIndexOf(":");
      if (colon < 0) throw planError(`expected cast=MODULE:DTYPE, found ${JSON.stringify(item)}.`);
      const cast = { after: value.slice(0, colon), dtype: value.slice(colon + 1) };
      const explicitCasts = [...(mixedPrecision?.explicitCasts ?? []), cast];
      return { ...policy, mixedPrecision: { ...mixedPrecision, explicitCasts } };
    }
    default:
      return undefined;
  }
}

function refuseTwoReshards({ reshardAfterForward: known }: GroupPolicy, item: string, value: boolean | number): void {
  if (known === undefined || known === value) return;
  const before = known === true ? "reshard" : known === false ? "no-reshard" : `reshard=${known}`;
  throw planError(`${before} and ${item} apply to the same modules. Remove one of them.`);
}

function refuseTwoDtypes(
  { mixedPrecision }: GroupPolicy,
  item: string,
  key: "param" | "output",
  value: string | undefined,
): void {
  const known = mixedPrecision?.[key];
  if (known !== undefined && known !== value)
    throw planError(`${key}=${known} and ${item} apply to the same modules. Remove one of them.`);
}

function withWrap(plan: ShardingPlan, value: string): ShardingPlan {
  const [, named, policy] = /^(.*?)(?:\(([^()]*)\))?$/s.exec(value) as RegExpExecArray;
  const modules = splitList(named, "+").map(unquoted);
  if (modules.length > 1 || policy !== undefined) return withGroup(plan, modules, modules.length > 1, policy ?? "");
  return { ...plan, wrap: [...(plan.wrap ?? []), ...modules] };
}

function withGroup(plan: ShardingPlan, modules: readonly string[], together: boolean, text: string): ShardingPlan {
  let policy: GroupPolicy = {};
  for (const item of splitList(text, ",")) {
    const next = withPolicyItem(policy, item);
    if (next === undefined)
      throw planError(
        `unknown setting ${JSON.stringify(item)} of ${JSON.stringify(modules.join("+") || "root")}. Expected ${policyNames()}.`,
      );
    policy = next;
  }
  return {
    ...plan,
    ...(modules[0] !== "" && { wrap: plan.wrap ?? [] }),
    groups: [...(plan.groups ?? []), { modules, ...(together && { together }), ...policy }],
  };
}

function withPrefetch(known: Prefetch | undefined, key: string, value: string): Prefetch {
  const [from, to] = splitList(value, ">");
  if (to === undefined) return wholeNumber(key, value);
  const others = typeof known === "object" ? known : {};
  return { ...others, [unquoted(from)]: splitList(to, "+").map(unquoted) };
}

/** Splits text at separators that are neither in quotes nor in parentheses. */
function splitList(text: string, separator: string): readonly string[] {
  const items: string[] = [];
  let item = "";
  let quote = "";
  let depth = 0;
  for (const character of text) {
    if (quote !== "") quote = character === quote ? "" : quote;
    else if (character === "'" || character === '"') quote = character;
    else if (character === "(") depth++;
    else if (character === ")") depth--;
    else if (character === separator && depth === 0) {
      items.push(item);
      item = "";
      continue;
    }
    item += character;
  }
  if (quote !== "" || depth !== 0)
    throw planError(
      `${quote !== "" ? `a quote ${quote} is not closed` : depth > 0 ? '"(" is not closed' : '")" closes nothing'} in ${JSON.stringify(text)}.`,
    );
  return [...items, item].map((each) => each.trim()).filter((each) => each !== "");
}

function unquoted(value: string): string {
  return value.trim().replace(/^(['"])(.*)\1$/s, "$2");
}

function wholeNumber(key: string, value: string): number {
  if (!/^\d+$/.test(value)) throw planError(`expected a whole number in ${key}=N, found ${JSON.stringify(value)}.`);
  return Number(value);
}

function policyNames(): string {
  return [...Object.keys(policyFlags), ...policyKeys.map((key) => `${key}=…`)].join(", ");
}

/**
 * Names of other kinds of parallelism by their abbreviations. They change the computation on each device, so a run on
 * one device cannot show it.
 */
const otherParallelism: Readonly<Record<string, string>> = {
  tp: "tensor parallelism",
  sp: "sequence parallelism",
  cp: "context parallelism",
  ep: "expert parallelism",
  pp: "pipeline parallelism",
};

function unknownItem(item: string): Error {
  const [, short, long] =
    /^(?:(tp|sp|cp|ep|pp)\b|(tensor|sequence|context|expert|pipeline)(?:[-_]?parallel|\b))/i.exec(item) ?? [];
  const other = short ?? (long === undefined ? undefined : `${long[0].toLowerCase()}p`);
  if (other !== undefined)
    return planError(
      `${otherParallelism[other]} (${JSON.stringify(item)}) is not supported in simulations. Record a run that uses it; remat memory shows the memory of its rank.`,
    );
  const names = [...[...planKeys, ...policyKeys].map((name) => `${name}=`), ...allFlags];
  const nearest = nearestNames(item.replace(/=.*/s, "="), names).join(", ");
  if (nearest !== "") return planError(`unknown setting ${JSON.stringify(item)}. Do you mean ${nearest}?`);
  return planError(
    `unknown setting ${JSON.stringify(item)}. Expected ${planKeys.map((key) => `${key}=…`).join(", ")}, root(…), ${policyNames()}, ${Object.keys(planFlags).join(", ")}.`,
  );
}
