import { RematError } from "@remat/trace";
import type { GraphCall } from "./execution-order.js";
import { groupByCuts } from "./group-by-cuts.js";
import { type GroupPaths, groupByPrefix } from "./group-by-prefix.js";
import type { Container, Layer } from "./layer-internals.js";

/**
 * How the layers of a flat model are grouped into modules.
 *
 * - `auto`: by name prefixes if at least half of the layers share one, otherwise by cuts of the graph
 * - `prefixes`: by name prefixes
 * - `cuts`: by cuts of the graph
 * - `none`: no groups
 * - a function: returns the path of groups around a layer (`"encoder.block1"` or `["encoder", "block1"]`), or undefined
 */
export type Grouping =
  | "auto"
  | "prefixes"
  | "cuts"
  | "none"
  | ((layer: Layer, position: number) => string | readonly string[] | undefined);

/** Returns the groups around each layer of a container. @internal */
export function groupLayers(container: Container, calls: readonly GraphCall[], grouping: Grouping): GroupPaths {
  if (typeof grouping === "function") return groupByFunction(calls, grouping);
  switch (grouping) {
    case "none":
      return new Map();
    case "cuts":
      return groupByCuts(container, calls);
    case "prefixes":
      return groupByPrefix(calls);
    case "auto": {
      const prefixes = groupByPrefix(calls);
      return prefixes.size * 2 >= calls.length ? prefixes : groupByCuts(container, calls);
    }
    default:
      throw new RematError(
        "GROUPING_UNKNOWN",
        `unknown grouping ${JSON.stringify(grouping)}. Use "auto", "prefixes", "cuts", "none" or a function.`,
      );
  }
}

function groupByFunction(
  calls: readonly GraphCall[],
  pathOf: (layer: Layer, position: number) => string | readonly string[] | undefined,
): GroupPaths {
  const paths = new Map<Layer, readonly string[]>();
  calls.forEach(({ layer }, position) => {
    if (paths.has(layer)) return;
    const path = pathOf(layer, position) ?? [];
    paths.set(layer, typeof path === "string" ? path.split(".").filter((name) => name !== "") : path);
  });
  return paths;
}
