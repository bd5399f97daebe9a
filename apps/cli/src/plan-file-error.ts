import { RematError } from "@remat/trace";
import type { TypedOptions } from "./command.js";

/**
 * Adds the names of the files given to `--fsdp` and `--checkpoint` to an error about a sharding plan that does not fit
 * the model. Any other error is returned unchanged.
 */
export function namingPlanFiles(error: unknown, { fsdp, checkpoint }: TypedOptions): unknown {
  if (!(error instanceof RematError) || error.code !== "SHARDING_PLAN") return error;
  const files = [fsdp, checkpoint].flat().flatMap((given) => {
    const text = String(given);
    const path = text.split("checkpoint=").at(-1)!;
    const end = path.lastIndexOf(".json");
    return end < 0 ? [] : path.slice(0, end + ".json".length);
  });
  if (files.length === 0 || files.some((file) => error.message.includes(file))) return error;
  return new RematError(error.code, `${[...new Set(files)].join(" or ")}: ${error.message}`, { cause: error });
}
