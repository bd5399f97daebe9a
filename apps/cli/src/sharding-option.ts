import { readFileSync } from "node:fs";
import {
  type CheckpointedModules,
  parseCheckpoint,
  parseNetwork,
  parseShardingPlan,
  readShardingPlan,
  type ShardingPlan,
} from "@remat/mem-tracker/fsdp";
import { type DeviceNetwork, type DeviceSpec, RematError } from "@remat/trace";
import { parseText, quote, UsageError } from "./usage-error.js";

/**
 * Parses what `--fsdp` takes: a sharding plan as text, or the name of a file that holds one as JSON.
 *
 * @throws UsageError for a plan that makes no sense, and for a file that cannot be read
 */
export function parseSharding(value: unknown): ShardingPlan {
  const given = parseText("fsdp", value);
  return given.endsWith(".json")
    ? asUsage(() => readShardingPlan(readText(given)), `${given}: `)
    : asUsage(() => parseShardingPlan(given));
}

/**
 * Parses what `--checkpoint` takes.
 *
 * @throws UsageError
 */
export function parseCheckpointed(value: unknown): readonly CheckpointedModules[] {
  return asUsage(() => parseCheckpoint(parseText("checkpoint", value)));
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

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(
      `--fsdp ${quote(path)}: cannot be read (${(error as Error).message}). Expected a file with a sharding plan, or a plan as text: world=8.`,
    );
  }
}
