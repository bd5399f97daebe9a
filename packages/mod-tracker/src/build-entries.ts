import { RematError } from "@remat/trace";
import { executionOrder, type GraphCall, inlinedParts } from "./execution-order.js";
import { type Grouping, groupLayers } from "./group-layers.js";
import { type Container, type GraphTensor, isContainer, isInputLayer, type Layer } from "./layer-internals.js";
import { type ContainerPlan, ModuleEntry } from "./module-entry.js";
import { partsOf } from "./parts-of.js";

/**
 * Entries of a layer and of all that it is made of, at any depth, added to `known`. A layer that is reached twice keeps its first name;
 * an input layer does nothing and is left out.
 *
 * @internal
 */
export function buildEntries(
  root: Layer,
  fqn: string,
  grouping: Grouping,
  known: Map<Layer, ModuleEntry>,
): ModuleEntry {
  const entry = new ModuleEntry(fqn, root.getClassName(), root);
  known.set(root, entry);
  const graph = isContainer(root) ? groupGraph(root, entry, grouping) : undefined;
  entry.members.push(root);
  for (const [name, part] of partsOf(root)) {
    if (isInputLayer(part)) continue;
    entry.hasPart();
    const groups = graph?.groupsOf.get(part) ?? [];
    const around = groups.at(-1)?.fqn ?? fqn;
    const partEntry = known.get(part) ?? buildEntries(part, `${around}.${name}`, grouping, known);
    entry.members.push(...partEntry.members);
    for (const group of groups) group.members.push(...partEntry.members);
  }
  if (graph !== undefined) entry.plan = planRun(root as Container, graph, known);
  return entry;
}

/** What a container's graph calls, an inlined model as one, and the groups around each of its layers, outermost first. */
interface GroupedGraph {
  readonly calls: readonly GraphCall[];
  readonly groupsOf: ReadonlyMap<Layer, readonly ModuleEntry[]>;
  readonly inlined: ReadonlySet<GraphTensor>;
}

function groupGraph(container: Container, entry: ModuleEntry, grouping: Grouping): GroupedGraph {
  if (!(container.outputs?.length > 0))
    throw new RematError(
      "MODEL_NOT_BUILT",
      `model '${container.name}' has no graph yet: expected a built model; give its first layer an inputShape, or call build() before tracking it`,
    );
  const inlined = inlinedParts(container);
  const calls = executionOrder(container, inlined);
  const groups = new Map<string, ModuleEntry>();
  const groupsOf = new Map<Layer, readonly ModuleEntry[]>();
  for (const [layer, path] of groupLayers(container, calls, grouping)) {
    let { fqn } = entry;
    const around: ModuleEntry[] = [];
    for (const name of path) {
      fqn = `${fqn}.${name}`;
      let group = groups.get(fqn);
      if (group === undefined) {
        group = new ModuleEntry(fqn, "Group", undefined);
        group.hasPart();
        groups.set(fqn, group);
      }
      around.push(group);
    }
    groupsOf.set(layer, around);
  }
  return { calls, groupsOf, inlined: new Set(inlined.keys()) };
}

/** An inlined model is around its calls as a group is. */
function planRun(container: Container, graph: GroupedGraph, known: ReadonlyMap<Layer, ModuleEntry>): ContainerPlan {
  const calls = graph.calls.flatMap(({ layer, output }): ContainerPlan["calls"] => {
    const around = graph.groupsOf.get(layer) ?? [];
    const model = graph.inlined.has(output) ? known.get(layer) : undefined;
    if (model?.plan === undefined) return [{ layer, groups: around }];
    return model.plan.calls.map((call) => ({ layer: call.layer, groups: [...around, model, ...call.groups] }));
  });
  const groupsOf = new Map<Layer, readonly ModuleEntry[]>();
  for (const { layer, groups } of calls) if (!groupsOf.has(layer)) groupsOf.set(layer, groups);
  return {
    calls,
    groupsOf,
    layers: new Set(groupsOf.keys()),
    outputLayers: new Set(container.outputs.map(({ sourceLayer }: GraphTensor) => sourceLayer)),
  };
}
