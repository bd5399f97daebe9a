import { RematError } from "@remat/trace";
import { executionOrder } from "./execution-order.js";
import { type Grouping, groupLayers } from "./group-layers.js";
import { type Container, type GraphTensor, isContainer, isInputLayer, type Layer, partsOf } from "./layer-internals.js";
import { type ContainerPlan, ModuleEntry } from "./module-entry.js";

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
  let names = new Map<Layer, string>();
  if (isContainer(root)) {
    const planned = planContainer(root, entry, grouping);
    entry.plan = planned.plan;
    names = planned.names;
  }
  entry.members.push(root);
  for (const [name, part] of partsOf(root)) {
    if (isInputLayer(part)) continue;
    entry.hasPart();
    const partEntry = known.get(part) ?? buildEntries(part, `${names.get(part) ?? fqn}.${name}`, grouping, known);
    entry.members.push(...partEntry.members);
    for (const group of entry.plan?.groupsOf.get(part) ?? []) group.members.push(...partEntry.members);
  }
  return entry;
}

function planContainer(
  container: Container,
  entry: ModuleEntry,
  grouping: Grouping,
): { plan: ContainerPlan; names: Map<Layer, string> } {
  if (!(container.outputs?.length > 0))
    throw new RematError(
      "MODEL_NOT_BUILT",
      `model '${container.name}' has no graph yet: expected a built model; give its first layer an inputShape, or call build() before tracking it`,
    );
  const calls = executionOrder(container);
  const paths = groupLayers(container, calls, grouping);
  const groups = new Map<string, ModuleEntry>();
  const groupsOf = new Map<Layer, readonly ModuleEntry[]>();
  const names = new Map<Layer, string>();
  for (const [layer, path] of paths) {
    let fqn = entry.fqn;
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
    names.set(layer, fqn);
  }
  const plan: ContainerPlan = {
    calls: calls.map(({ layer }) => ({ layer, groups: groupsOf.get(layer) ?? [] })),
    groupsOf,
    layers: new Set(calls.map(({ layer }) => layer)),
    outputLayers: new Set(container.outputs.map(({ sourceLayer }: GraphTensor) => sourceLayer)),
  };
  return { plan, names };
}
