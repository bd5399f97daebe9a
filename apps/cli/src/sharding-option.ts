import { readFileSync } from "node:fs";
import { parseShardingPlan, readShardingPlan, type ShardingPlan } from "@remat/mem-tracker/fsdp";
import { RematError } from "@remat/trace";
import { parseText, quote, UsageError } from "./usage-error.js";

/**
 * Parses what `--fsdp` takes: a sharding plan as text, or the name of a file that holds one as JSON.
 *
 * @throws UsageError for a plan that makes no sense, and for a file that cannot be read
 */
export function parseSharding(value: unknown): ShardingPlan {
  const given = parseText("fsdp", value);
  try {
    return given.endsWith(".json") ? readShardingPlan(readText(given)) : parseShardingPlan(given);
  } catch (error) {
    if (!(error instanceof RematError)) throw error;
    throw new UsageError(given.endsWith(".json") ? `${given}: ${error.message}` : error.message);
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
