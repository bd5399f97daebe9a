import { bytesPerElement, RematError } from "@remat/trace";

/** Dtypes other than the parameters' own, by PyTorch's names (`bfloat16`). Left out: no cast. */
export interface MixedPrecision {
  /** Of gathered parameters, and so of activations and gradients. */
  readonly param?: string;
  /** In which gradients are reduced; left out: the gradients' own. */
  readonly reduce?: string;
  /** To which the outputs of the root are cast. */
  readonly output?: string;
  /**
   * Casts that the model's code makes itself (`self.output(h).float()`). Where the recorded run computes in that dtype already such a cast
   * is no op and leaves nothing in the trace, so it has to be told: the outputs of these modules (names or patterns) are cast to `dtype`.
   */
  readonly explicitCasts?: readonly { readonly after: string; readonly dtype: string }[];
}

/** How a model is sharded: the arguments of PyTorch's `fully_shard` on the wrapped modules and on the root, which is always wrapped. */
export interface ShardingPlan {
  /** Over how many ranks. */
  readonly worldSize: number;
  /** Whose memory is predicted; left out: 0, which has the largest shards. */
  readonly rank?: number;
  /**
   * Modules that are gathered and resharded as one: names, or patterns in which `*` stands for part of one name and `**` for any number of
   * names. With or without the root's name in front. None: the root alone. Left out: `usualWrap` of the run.
   */
  readonly wrap?: readonly string[];
  /** Left out: after the forward pass all are resharded but the root, as `fully_shard` does by default. */
  readonly reshardAfterForward?: boolean;
  readonly mixedPrecision?: MixedPrecision;
  /** Shards, their gradients and optimizer states live on the CPU; where the run itself was on the CPU, on a device `host`. */
  readonly cpuOffload?: boolean;
}

/**
 * Refuses a plan that makes no sense by itself.
 *
 * @throws RematError `SHARDING_PLAN`
 */
export function checkShardingPlan(plan: ShardingPlan): void {
  const { worldSize, rank = 0, mixedPrecision = {} } = plan;
  if (!Number.isInteger(worldSize) || worldSize < 1)
    throw planError(
      `expected a world size of at least 1, found ${worldSize}. Say over how many ranks to shard: world=8.`,
    );
  if (!Number.isInteger(rank) || rank < 0 || rank >= worldSize)
    throw planError(`expected a rank from 0 to ${worldSize - 1}, found ${rank}.`);
  for (const dtype of [
    mixedPrecision.param,
    mixedPrecision.reduce,
    mixedPrecision.output,
    ...(mixedPrecision.explicitCasts ?? []).map((cast) => cast.dtype),
  ])
    if (dtype !== undefined && !floatDtypes.includes(dtype))
      throw planError(`expected a dtype of ${floatDtypes.join(", ")}, found ${JSON.stringify(dtype)}.`);
}

const floatDtypes: readonly string[] = ["float16", "bfloat16", "float32", "float64"];

export function isFloatDtype(dtype: string): boolean {
  return floatDtypes.includes(dtype);
}

/** Returns bytes of one element, 4 for a dtype that is not known. */
export function elementBytes(dtype: string): number {
  return bytesPerElement(dtype) ?? 4;
}

const flags: Readonly<Record<string, Partial<ShardingPlan>>> = {
  reshard: { reshardAfterForward: true },
  "no-reshard": { reshardAfterForward: false },
  bf16: { mixedPrecision: { param: "bfloat16", reduce: "float32" } },
  fp16: { mixedPrecision: { param: "float16", reduce: "float32" } },
  offload: { cpuOffload: true },
};
const keys = ["world", "rank", "wrap", "reduce", "output", "cast"];

/**
 * Returns a plan from text: `world=8,wrap='layers.*',reshard,bf16,offload`.
 *
 * `world=N` is needed; `wrap=PATTERN` may be repeated, and quoted, and `wrap=` is the root alone; `reshard` or `no-reshard`; `bf16` or `fp16` parameters with `float32`
 * reductions, which `reduce=DTYPE` changes; `output=DTYPE`; `cast=MODULE:DTYPE` for a cast in the model's own code; `offload`; `rank=N`.
 *
 * @throws RematError `SHARDING_PLAN`
 * @example
 * parseShardingPlan("world=8,wrap='layers.*',bf16"); // { worldSize: 8, wrap: ["layers.*"], mixedPrecision: { … } }
 */
export function parseShardingPlan(text: string): ShardingPlan {
  let plan: ShardingPlan = { worldSize: Number.NaN };
  for (const item of splitList(text)) {
    const at = item.indexOf("=");
    if (at < 0) {
      if (!Object.hasOwn(flags, item)) throw unknownItem(item);
      plan = { ...plan, ...flags[item] };
      continue;
    }
    const value = item.slice(at + 1).replace(/^(['"])(.*)\1$/, "$2");
    plan = withSetting(plan, item.slice(0, at).trim(), value, item);
  }
  if (Number.isNaN(plan.worldSize)) throw planError(`expected world=N in ${JSON.stringify(text)}, found none.`);
  checkShardingPlan(plan);
  return plan;
}

function withSetting(plan: ShardingPlan, key: string, value: string, item: string): ShardingPlan {
  const { mixedPrecision } = plan;
  switch (key) {
    case "world":
      return { ...plan, worldSize: wholeNumber(key, value) };
    case "rank":
      return { ...plan, rank: wholeNumber(key, value) };
    case "wrap":
      return { ...plan, wrap: [...(plan.wrap ?? []), ...(value === "" ? [] : [value])] };
    case "reduce":
      return { ...plan, mixedPrecision: { ...mixedPrecision, reduce: value } };
    case "output":
      return { ...plan, mixedPrecision: { ...mixedPrecision, output: value } };
    case "cast": {
      const colon = value.lastIndexOf(":");
      if (colon < 0) throw planError(`expected cast=MODULE:DTYPE, found ${JSON.stringify(item)}.`);
      const cast = { after: value.slice(0, colon), dtype: value.slice(colon + 1) };
      const explicitCasts = [...(mixedPrecision?.explicitCasts ?? []), cast];
      return { ...plan, mixedPrecision: { ...mixedPrecision, explicitCasts } };
    }
    default:
      throw unknownItem(item);
  }
}

/** Items between commas that are not quoted. */
function splitList(text: string): readonly string[] {
  return (text.match(/(?:'[^']*'|"[^"]*"|[^,'"])+/g) ?? []).map((item) => item.trim()).filter((item) => item !== "");
}

function wholeNumber(key: string, value: string): number {
  if (!/^\d+$/.test(value)) throw planError(`expected a whole number in ${key}=N, found ${JSON.stringify(value)}.`);
  return Number(value);
}

function unknownItem(item: string): RematError {
  return planError(
    `unknown item ${JSON.stringify(item)}: expected ${keys.map((key) => `${key}=…`).join(", ")}, ${Object.keys(flags).join(", ")}.`,
  );
}

export function planError(detail: string): RematError {
  return new RematError("SHARDING_PLAN", `sharding plan: ${detail}`);
}
