import type { GivenOrder } from "./program-order.js";
import { orderVariable } from "./program-order.js";

/**
 * Returns the environment in which every Node process and worker thread of a program begins with our preload: by `--require`, which Node honours in all
 * of them and before whatever else is loaded (tsx, `--import`).
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
