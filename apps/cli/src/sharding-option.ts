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
import { option } from "./command.js";
import { parseText, quote, UsageError } from "./usage-error.js";

/** The option of commands that predict or plan one rank of many. */
export const fsdpCodeOption = option("--fsdp-code <file>", {
  group: "rare",
  access: "output",
  purpose: "Also write the sharding plan as Python calls of fully_shard",
  writes: "text",
});

/** A sharding plan, and its text on the command line. */
export interface TypedSharding {
  readonly name: string;
  readonly plan: ShardingPlan;
}

/**
 * Parses the value of `--fsdp`: a sharding plan as text, or the name of a JSON file with one.
 *
 * @throws UsageError for an invalid plan, and for a file that cannot be read
 */
export function parseSharding(name: string, value: unknown): TypedSharding {
  const given = parseText(name, value);
  // A plan as text may also end with the name of a file: checkpoint=policy.json.
  const isFile = given.endsWith(".json") && !/(^|,)\s*(world|checkpoint)=/.test(given);
  const plan = isFile
    ? asUsage(() => readShardingPlan(readText("--fsdp ", given)), `${given}: `)
    : asUsage(() => parseShardingPlan(given, { checkpointFile: (path) => checkpointOf(path, "checkpoint=") }));
  return { name: given, plan };
}

/**
 * Parses the value of `--checkpoint`: modules as text, or the name of a file with rules as JSON or a policy of
 * `remat plan --pytorch-policy`.
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
 * Parses the interconnect of ranks from `--network`. The default is the interconnect of the device.
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

/** @param said text before the path, as typed */
function readText(said: string, path: string): string {
  try {
    return readInputText(path);
  } catch (error) {
    throw new UsageError(
      `${said}${quote(path)}: cannot be read (${(error as Error).message}). Name a JSON file, or type the plan: ` +
        `${said === "--fsdp " ? "world=8" : "layers.*"}.`,
    );
  }
}
