import { describeValue, isRecord, parseJsonText } from "@remat/trace";
import { scopeModes } from "./remat-scope.js";
import { type CheckpointedModules, checkShardingPlan, planError, type ShardingPlan } from "./sharding-plan.js";

/** The schema name in files of sharding plans. */
const shardingPlanSchema = "sharding-plan/1";

type Check = (value: unknown) => string | undefined;

const isNumber: Check = (value) => (typeof value === "number" ? undefined : "a number");
const isBoolean: Check = (value) => (typeof value === "boolean" ? undefined : "true or false");
const isText: Check = (value) => (typeof value === "string" ? undefined : "text");
const isNames: Check = (value) =>
  Array.isArray(value) && value.every((name) => typeof name === "string") ? undefined : "a list of names";
const isReshard: Check = (value) =>
  typeof value === "boolean" || typeof value === "number" ? undefined : "true, false or a number of ranks";
const isPrefetch: Check = (value) =>
  typeof value === "number" || (isRecord(value) && Object.values(value).every((each) => isNames(each) === undefined))
    ? undefined
    : "how many, or by module a list of names";

const castFields = { after: isText, dtype: isText };
const precisionFields = {
  param: isText,
  reduce: isText,
  output: isText,
  explicitCasts: listOf(castFields),
};
const policyFields = { reshardAfterForward: isReshard, mixedPrecision: objectOf(precisionFields) };
const groupFields = { modules: isNames, together: isBoolean, ...policyFields };
const scopeFields = {
  mode: (value: unknown) => (scopeModes.some((mode) => mode === value) ? undefined : `one of ${scopeModes.join(", ")}`),
  outputSizeThreshold: isNumber,
  layerNames: isNames,
};
const checkpointedFields = { modules: isNames, save: isNames, scope: objectOf(scopeFields) };
const planFields = {
  schema: isText,
  worldSize: isNumber,
  replicas: isNumber,
  rank: isNumber,
  wrap: isNames,
  groups: listOf(groupFields),
  ignored: isNames,
  ...policyFields,
  cpuOffload: isBoolean,
  forwardPrefetch: isPrefetch,
  backwardPrefetch: isPrefetch,
  reshardAfterBackward: isBoolean,
  keptShardedInBackward: isNames,
  microBatches: isNumber,
  strategy: (value: unknown) =>
    value === "ddp" || value === "zero1" || value === "zero2" ? undefined : "ddp, zero1 or zero2",
  bucketBytes: isNumber,
  gradientAsBucketView: isBoolean,
  gradientSync: (value: unknown) => (value === "every" || value === "last" ? undefined : "every or last"),
  checkpoint: listOf(checkpointedFields),
  asTracked: isBoolean,
  storedDtype: isText,
  ownCasts: isNames,
};

/**
 * Returns a sharding plan from JSON: an object with the fields of {@link ShardingPlan} and `"schema":
 * "sharding-plan/1"`.
 *
 * @throws RematError `SHARDING_PLAN`, with the name of the wrong field
 * @example
 * readShardingPlan('{"schema": "sharding-plan/1", "worldSize": 8, "wrap": ["layers.*"]}');
 */
export function readShardingPlan(text: string): ShardingPlan {
  const json = parseJson(text);
  const wrong = objectOf(planFields)(json);
  if (wrong !== undefined) throw planError(`expected ${wrong}.`);
  const { schema, ...plan } = json as ShardingPlan & { readonly schema?: string };
  if (schema !== shardingPlanSchema)
    throw planError(`expected "schema": "${shardingPlanSchema}", found ${JSON.stringify(schema)}.`);
  for (const field of ["groups", "checkpoint"] as const)
    if (plan[field]?.some(({ modules }) => modules === undefined))
      throw planError(`expected "modules" in each of "${field}".`);
  checkShardingPlan(plan);
  return plan;
}

/** The schema name in files of checkpoint settings. */
const checkpointSchema = "checkpoint/1";

const checkpointFields = { schema: isText, checkpoint: listOf(checkpointedFields) };

/**
 * Returns a checkpoint setting from JSON: `{"schema": "checkpoint/1", "checkpoint": [{"modules": ["layers.*"], "save":
 * ["mm"]}]}`, or a policy that `remat plan` wrote for PyTorch.
 *
 * @throws RematError `SHARDING_PLAN`, with the name of the wrong field
 */
export function readCheckpoint(text: string): readonly CheckpointedModules[] {
  const json = parseJson(text);
  if (isRecord(json) && typeof json["format"] === "string" && json["format"].startsWith("remat-pytorch-policy/"))
    return modulesOfPolicy(json["modules"]);
  const wrong = objectOf(checkpointFields)(json);
  if (wrong !== undefined) throw planError(`expected ${wrong}.`);
  const { schema, checkpoint = [] } = json as {
    readonly schema?: string;
    readonly checkpoint?: readonly CheckpointedModules[];
  };
  if (schema !== checkpointSchema)
    throw planError(`expected "schema": "${checkpointSchema}", found ${JSON.stringify(schema)}.`);
  if (checkpoint.length === 0 || checkpoint.some(({ modules }) => modules === undefined))
    throw planError('expected at least one entry of "checkpoint", each with "modules".');
  return checkpoint;
}

/**
 * Returns the modules of a policy. Each module lists the ops it saves by name and ordinal. In the first version of the
 * format it lists an action for each op.
 */
function modulesOfPolicy(modules: unknown): readonly CheckpointedModules[] {
  if (!isRecord(modules)) throw planError(`expected an object as "modules", found ${JSON.stringify(modules)}.`);
  return Object.entries(modules).map(([name, unit]) => {
    const ops = Array.isArray(unit) ? unit : isRecord(unit) ? unit["save"] : undefined;
    if (!Array.isArray(ops)) throw planError(`expected a list of ops of module ${JSON.stringify(name)}.`);
    const save = ops.flatMap(({ op, ordinal, policy = "MUST_SAVE" }) =>
      policy === "MUST_SAVE" ? [`${String(op)}#${String(ordinal)}`] : [],
    );
    const parts = isRecord(unit) ? unit["parts"] : undefined;
    if (parts !== undefined && !isListOfParts(parts))
      throw planError(
        `expected pairs of places as "parts" of module ${JSON.stringify(name)}, found ${JSON.stringify(parts)}.`,
      );
    return { modules: [name], ...(save.length > 0 && { save }), ...(parts !== undefined && { parts }) };
  });
}

/**
 * Returns a sharding plan as JSON for {@link readShardingPlan}.
 *
 * @example
 * writeShardingPlan(parseShardingPlan("world=8,bf16"));
 */
export function writeShardingPlan(plan: ShardingPlan): string {
  return `${JSON.stringify({ schema: shardingPlanSchema, ...plan }, null, 2)}\n`;
}

function isListOfParts(value: unknown): value is NonNullable<CheckpointedModules["parts"]> {
  const isPart = (part: unknown) =>
    Array.isArray(part) &&
    (part.length === 2 || (part.length === 3 && Array.isArray(part[2]))) &&
    part.flat().every((place) => Number.isInteger(place));
  return Array.isArray(value) && value.every(isPart);
}

function parseJson(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch (error) {
    throw planError(`not JSON (${(error as Error).message}). Expected an object.`);
  }
}

/** Returns a check of an object. Its message names the field and the expected value. */
function objectOf(fields: Readonly<Record<string, Check>>): Check {
  return (value) => {
    if (!isRecord(value)) return "an object";
    for (const [name, each] of Object.entries(value)) {
      if (!Object.hasOwn(fields, name))
        return `none but ${Object.keys(fields).join(", ")}, found ${describeValue(name)}`;
      const expected = fields[name](each);
      if (expected !== undefined) return `${expected} as ${JSON.stringify(name)}, found ${describeValue(each)}`;
    }
    return undefined;
  };
}

function listOf(fields: Readonly<Record<string, Check>>): Check {
  const check = objectOf(fields);
  return (value) => {
    if (!Array.isArray(value)) return "a list";
    return value.map(check).find((expected) => expected !== undefined);
  };
}
