import type { GivenOrder } from "./program-order.js";
import { orderVariable } from "./program-order.js";

/**
 * Returns an environment in which every Node process and worker thread of a program starts with the preload. It uses
 * `--require`, which Node honours in all of them and before anything else is loaded (tsx, `--import`).
 *
 * @internal
 */
export function programEnvironment(
  env: NodeJS.ProcessEnv,
  preload: string,
  order: GivenOrder,
): Readonly<Record<string, string | undefined>> {
  const { NODE_OPTIONS: options = "" } = env;
  const quoted = `"${preload.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  return {
    ...env,
    NODE_OPTIONS: `--require ${quoted}${options === "" ? "" : ` ${options}`}`,
    [orderVariable]: JSON.stringify(order),
  };
}
