import {
  type CheckpointedModules,
  parseCheckpoint,
  parseNetwork,
  parseShardingPlan,
  readCheckpoint,
  readShardingPlan,
  type ShardingPlan,
} from "@remat/sharding";
import { type DeviceNetwork, type DeviceSpec, RematError } from "@remat/trace";
import { readInputText } from "@remat/trace/files";
import { parseText, quote, UsageError } from "./usage-error.js";

/** A sharding plan, and how it was typed. */
export interface TypedSharding {
  readonly name: string;
  readonly plan: ShardingPlan;
}

/**
 * Parses what `--fsdp` takes: a sharding plan as text, or the name of a file that holds one as JSON.
 *
 * @throws UsageError for a plan that makes no sense, and for a file that cannot be read
 */
export function parseSharding(name: string, value: unknown): TypedSharding {
  const given = parseText(name, value);
  // A plan as text may end with the name of a file, too, checkpoint=policy.json.
  const isFile = given.endsWith(".json") && !/(^|,)\s*(world|checkpoint)=/.test(given);
  const plan = isFile
    ? asUsage(() => readShardingPlan(readText("--fsdp ", given)), `${given}: `)
    : asUsage(() => parseShardingPlan(given, { checkpointFile: (path) => checkpointOf(path, "checkpoint=") }));
  return { name: given, plan };
}

/**
 * Parses what `--checkpoint` takes: modules as text, or the name of a file: rules as JSON, or a policy of `remat plan --pytorch-policy`.
 *
 * @throws UsageError
 */
export function parseCheckpointed(name: string, value: unknown): readonly CheckpointedModules[] {
  const given = parseText(name, value);
  return given.endsWith(".json") ? checkpointOf(given, "--checkpoint ") : asUsage(() => parseCheckpoint(given));
}

function checkpointOf(path: string, said: string): readonly CheckpointedModules[] {
  return asUsage(() => readCheckpoint(readText(said, path)), `${path}: `);
}

/**
 * Parses how ranks are joined, as `--network` takes it; where it is not given, the device's own counts.
 *
 * @throws UsageError
 */
export function networkOf(text: string | undefined, { network }: DeviceSpec): DeviceNetwork | undefined {
  return text === undefined ? network : asUsage(() => parseNetwork(text, network));
}

function asUsage<T>(parse: () => T, place = ""): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof RematError) throw new UsageError(place + error.message);
    throw error;
  }
}

/** @param said what stands before the path, as it is typed */
function readText(said: string, path: string): string {
  try {
    return readInputText(path);
  } catch (error) {
    throw new UsageError(
      `${said}${quote(path)}: cannot be read (${(error as Error).message}). Name a JSON file, or type the plan: ${said === "--fsdp " ? "world=8" : "layers.*"}.`,
    );
  }
}
