import type { ModuleNode, ModuleTreeView } from "@remat/reporting";
import { rememberLast } from "./memoize.js";

const byName = rememberLast(({ nodes }: ModuleTreeView) => new Map(nodes.toReversed().map((node) => [node.fqn, node])));

/** Returns the module with a name. */
export function findModule(tree: ModuleTreeView, fqn: string | undefined): ModuleNode | undefined {
  return fqn === undefined ? undefined : byName(tree).get(fqn);
}
