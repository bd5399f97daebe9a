import type { GraphCall } from "./execution-order.js";
import type { Layer } from "./layer-internals.js";

/** Names of the groups around each layer, outermost first. */
export type GroupPaths = ReadonlyMap<Layer, readonly string[]>;

/**
 * Groups by what names have in common: `conv2_block1_1_conv` is in `conv2`, `conv2_block1` and `conv2_block1_1`, as far as these are groups:
 * at least two layers, not all of them, called one after the other without a stranger between (else a group would be entered several
 * times). Names that tfjs or Keras gives by itself (`dense_1`, `conv2d_Conv2D3`) say nothing.
 *
 * @example
 * groupByPrefix(executionOrder(mobileNetV2)).get(layer); // ["block_1", "block_1_expand"]
 */
export function groupByPrefix(calls: readonly GraphCall[]): GroupPaths {
  const positions = new Map<string, number[]>();
  calls.forEach(({ layer }, at) => {
    if (hasGivenName(layer)) for (const prefix of prefixesOf(layer.name)) append(positions, prefix, at);
  });
  const isGroup = (prefix: string): boolean => {
    const at = positions.get(prefix) ?? [];
    const layers = [...new Set(at.map((i) => calls[i].layer))];
    const together = at[at.length - 1] - at[0] === at.length - 1;
    // `block` around `block_1`, `block_2`, … is a list, not a module.
    const isList = layers.every(({ name }) => /^[_/-]+\d+(?![^_/-])/.test(name.slice(prefix.length)));
    return layers.length > 1 && at.length < calls.length && together && !isList;
  };
  const paths = new Map<Layer, readonly string[]>();
  for (const { layer } of calls) {
    if (!hasGivenName(layer)) continue;
    const groups = prefixesOf(layer.name).filter(isGroup);
    // Of prefixes around the very same layers the longest tells most.
    const telling = groups.filter(
      (prefix, i) => positions.get(prefix)?.length !== positions.get(groups[i + 1])?.length,
    );
    if (telling.length > 0) paths.set(layer, telling);
  }
  return paths;
}

/** `a_b_c`: `a`, `a_b`, `a_b_c`. A whole name is a prefix of itself, so that `conv1` is beside `conv1_bn`. */
function prefixesOf(name: string): string[] {
  const prefixes: string[] = [];
  for (const { index } of name.matchAll(/[_/-]+/g)) if (index > 0) prefixes.push(name.slice(0, index));
  return [...prefixes, name];
}

/** Whether the name is more than the class in lower case and a number. */
function hasGivenName(layer: Layer): boolean {
  const stem = layer.name.replace(/_([A-Z]\w*)?\d+$/, "");
  return stem.replaceAll("_", "").toLowerCase() !== layer.getClassName().toLowerCase();
}

function append(lists: Map<string, number[]>, key: string, value: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
