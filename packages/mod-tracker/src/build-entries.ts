import { RematError } from "@remat/trace";
import { executionOrder, type GraphCall, inlinedParts } from "./execution-order.js";
import { kindOf, type Part } from "./forward-module.js";
import { type Grouping, groupLayers } from "./group-layers.js";
import { type Container, type GraphTensor, isContainer, isInputLayer, isLayer, type Layer } from "./layer-internals.js";
import { type ContainerPlan, ModuleEntry } from "./module-entry.js";
import type { Weights } from "./owned-tensors.js";
import { partsOf } from "./parts-of.js";

/** Returns the parameters and buffers of plain functions that belong to an FQN. */
export type OwnedBy = (fqn: string) => Weights;

/** Data that all entries of a module share. */
export interface EntryContext {
  readonly grouping: Grouping;
  /** Receives the entries. */
  readonly known: Map<Part, ModuleEntry>;
  readonly ownedBy: OwnedBy;
}

/**
 * Adds entries for a module and all its parts, at any depth, to `known`. A layer reached twice keeps its first name.
 * Input layers do nothing and are left out.
 *
 * @internal
 */
export function buildEntries(
  root: Part,
  fqn: string,
  context: EntryContext,
  around: ReadonlySet<Part> = new Set(),
): ModuleEntry {
  const { grouping, known, ownedBy } = context;
  const entry = isLayer(root)
    ? new ModuleEntry(fqn, root.getClassName(), root)
    : new ModuleEntry(fqn, kindOf(root), undefined, () => ownedBy(fqn));
  known.set(root, entry);
  const graph = isLayer(root) && isContainer(root) ? groupGraph(root, entry, grouping) : undefined;
  if (isLayer(root)) entry.members.push(root);
  const inside = new Set([...around, root]);
  for (const [name, part] of partsOf(root)) {
    // A part may reference the module around it.
    if (inside.has(part) || (isLayer(part) && isInputLayer(part))) continue;
    entry.markContainer();
    const groups = (isLayer(part) && graph?.groupsOf.get(part)) || [];
    const holder = groups.at(-1)?.fqn ?? fqn;
    const partEntry = known.get(part) ?? buildEntries(part, `${holder}.${name}`, context, inside);
    entry.members.push(...partEntry.members);
    for (const group of groups) group.members.push(...partEntry.members);
  }
  if (graph !== undefined) entry.plan = planRun(root as Container, graph, known);
  return entry;
}

/**
 * The calls of a container's graph, with each inlined model as one call, and the groups around each layer, outermost
 * first.
 */
interface GroupedGraph {
  readonly calls: readonly GraphCall[];
  readonly groupsOf: ReadonlyMap<Layer, readonly ModuleEntry[]>;
  readonly inlined: ReadonlySet<GraphTensor>;
}

function groupGraph(container: Container, entry: ModuleEntry, grouping: Grouping): GroupedGraph {
  if (!(container.outputs?.length > 0))
    throw new RematError(
      "MODEL_NOT_BUILT",
      `model '${container.name}' is not built, so it has no graph. Give its first layer an inputShape, or call build() before tracking it.`,
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
        group.markContainer();
        groups.set(fqn, group);
      }
      around.push(group);
    }
    groupsOf.set(layer, around);
  }
  return { calls, groupsOf, inlined: new Set(inlined.keys()) };
}

/** An inlined model surrounds its calls like a group. */
function planRun(container: Container, graph: GroupedGraph, known: ReadonlyMap<Part, ModuleEntry>): ContainerPlan {
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
