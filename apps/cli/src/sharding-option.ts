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

/**
 * Parses what `--fsdp` takes: a sharding plan as text, or the name of a file that holds one as JSON.
 *
 * @throws UsageError for a plan that makes no sense, and for a file that cannot be read
 */
export function parseSharding(value: unknown): ShardingPlan {
  const given = parseText("fsdp", value);
  // A plan as text may end with the name of a file, too, checkpoint=policy.json.
  const isFile = given.endsWith(".json") && !/(^|,)\s*(world|checkpoint)=/.test(given);
  return isFile
    ? asUsage(() => readShardingPlan(readText("--fsdp ", given)), `${given}: `)
    : asUsage(() => parseShardingPlan(given, { checkpointFile: (path) => checkpointOf(path, "checkpoint=") }));
}

/**
 * Parses what `--checkpoint` takes: modules as text, or the name of a file: rules as JSON, or a policy of `remat plan --pytorch-policy`.
 *
 * @throws UsageError
 */
export function parseCheckpointed(value: unknown): readonly CheckpointedModules[] {
  const given = parseText("checkpoint", value);
  return given.endsWith(".json") ? checkpointOf(given, "--checkpoint ") : asUsage(() => parseCheckpoint(given));
}

function checkpointOf(path: string, said: string): readonly CheckpointedModules[] {
  return asUsage(() => readCheckpoint(readText(said, path)), `${path}: `);
}

/**
 * Parses what `--network` takes; where it is not given, the device's own counts.
 *
 * @throws UsageError
 */
export function parseNetworkOption(value: unknown, { network }: DeviceSpec): DeviceNetwork | undefined {
  return value === undefined ? network : asUsage(() => parseNetwork(parseText("network", value), network));
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
      `${said}${quote(path)}: cannot be read (${(error as Error).message}). Expected a file as JSON, or text: ${said === "--fsdp " ? "world=8" : "layers.*"}.`,
    );
  }
}
