import type { GraphCall } from "./execution-order.js";
import type { Layer } from "./layer-internals.js";

/** Names of the groups around each layer, outermost first. */
export type GroupPaths = ReadonlyMap<Layer, readonly string[]>;

/**
 * Groups layers by common name prefixes. For example, `conv2_block1_1_conv` is in `conv2`, `conv2_block1` and
 * `conv2_block1_1`, if these are groups. A group has at least two layers and at most four fifths of all layers, called
 * one after the other. A layer with the prefix that is called at another place stays outside. If there are many such
 * layers (`conv_dw` and `conv_pw` alternate), there is no group, since it would be entered again and again. Default
 * names of TensorFlow.js and Keras (`dense_1`, `conv2d_Conv2D3`) are ignored.
 *
 * @example
 * groupByPrefix(executionOrder(mobileNetV2)).get(layer); // ["block_1", "block_1_expand"]
 */
export function groupByPrefix(calls: readonly GraphCall[]): GroupPaths {
  const positions = new Map<string, number[]>();
  calls.forEach(({ layer }, at) => {
    if (hasGivenName(layer)) for (const prefix of prefixesOf(layer.name)) append(positions, prefix, at);
  });
  const groups = new Map<string, Run>();
  for (const [prefix, at] of positions) {
    const run = mainRun(at);
    if (run === undefined || run.length > mostOf * calls.length) continue;
    const layers = new Set(at.flatMap((i) => calls[i]?.layer ?? []));
    // `block` around `block_1`, `block_2`, … is a list, not a module.
    const isList = [...layers].every(({ name }) => /^[_/-]+\d+(?![^_/-])/.test(name.slice(prefix.length)));
    if (layers.size > 1 && !isList) groups.set(prefix, run);
  }
  const paths = new Map<Layer, readonly string[]>();
  calls.forEach(({ layer }, at) => {
    if (!hasGivenName(layer) || paths.has(layer)) return;
    const around = prefixesOf(layer.name).filter((prefix) => contains(groups.get(prefix), at));
    // Among prefixes around the same layers the longest is the most specific.
    const telling = around.filter(
      (prefix, i) => groups.get(prefix)?.length !== groups.get(around[i + 1] ?? "")?.length,
    );
    if (telling.length > 0) paths.set(layer, telling);
  });
  return paths;
}

/** A group with more than this share of the layers is the whole model. */
const mostOf = 0.8;

/** Consecutive calls. */
interface Run {
  readonly start: number;
  readonly length: number;
}

const contains = (run: Run | undefined, at: number): boolean =>
  run !== undefined && at >= run.start && at < run.start + run.length;

/** Returns the only run of at least two ascending positions, if it contains more than half of them. */
function mainRun(positions: readonly number[]): Run | undefined {
  const runs: Run[] = [];
  for (const at of positions) {
    const last = runs.at(-1);
    if (last !== undefined && last.start + last.length === at)
      runs[runs.length - 1] = { ...last, length: last.length + 1 };
    else runs.push({ start: at, length: 1 });
  }
  const [long, ...others] = runs.filter(({ length }) => length > 1);
  return long !== undefined && others.length === 0 && long.length * 2 > positions.length ? long : undefined;
}

/** Returns `a`, `a_b`, `a_b_c` for `a_b_c`. A name is a prefix of itself, so that `conv1` is next to `conv1_bn`. */
function prefixesOf(name: string): string[] {
  const prefixes: string[] = [];
  for (const { index } of name.matchAll(/[_/-]+/g)) if (index > 0) prefixes.push(name.slice(0, index));
  return [...prefixes, name];
}

/** Returns whether the name is more than the lower-case class name and a number. */
function hasGivenName(layer: Layer): boolean {
  const stem = stemOf(layer.name);
  return stem.replaceAll("_", "").toLowerCase() !== layer.getClassName().toLowerCase();
}

/**
 * Returns a name without a number at its end, and without the class of a wrapped layer before it, as in
 * `bidirectional_LSTM1`.
 */
function stemOf(name: string): string {
  const word = /(?<!\w)\w*\d$/.exec(name);
  const at = word === null ? -1 : word[0].search(/_(?:[A-Z]|\d+$)/);
  return word === null || at < 0 ? name : name.slice(0, word.index + at);
}

function append(lists: Map<string, number[]>, key: string, value: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
