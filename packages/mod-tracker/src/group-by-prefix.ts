import type { GraphCall } from "./execution-order.js";
import type { Layer } from "./layer-internals.js";

/** Names of the groups around each layer, outermost first. */
export type GroupPaths = ReadonlyMap<Layer, readonly string[]>;

/**
 * Groups by what names have in common: `conv2_block1_1_conv` is in `conv2`, `conv2_block1` and `conv2_block1_1`, as far as these are groups:
 * at least two layers, at most four fifths of all, called one after the other. A layer of that name which is called elsewhere stays outside; if many
 * are (`conv_dw` and `conv_pw` take turns) there is no group, for it would be entered again and again. Names that tfjs or Keras gives by
 * itself (`dense_1`, `conv2d_Conv2D3`) say nothing.
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
    const layers = new Set(at.map((i) => calls[i].layer));
    // `block` around `block_1`, `block_2`, … is a list, not a module.
    const isList = [...layers].every(({ name }) => /^[_/-]+\d+(?![^_/-])/.test(name.slice(prefix.length)));
    if (layers.size > 1 && !isList) groups.set(prefix, run);
  }
  const paths = new Map<Layer, readonly string[]>();
  calls.forEach(({ layer }, at) => {
    if (!hasGivenName(layer) || paths.has(layer)) return;
    const around = prefixesOf(layer.name).filter((prefix) => contains(groups.get(prefix), at));
    // Of prefixes around the very same layers the longest tells most.
    const telling = around.filter((prefix, i) => groups.get(prefix)?.length !== groups.get(around[i + 1])?.length);
    if (telling.length > 0) paths.set(layer, telling);
  });
  return paths;
}

/** A group of more than this part of the layers is the model, not a part of it. */
const mostOf = 0.8;

/** Calls one after the other. */
interface Run {
  readonly start: number;
  readonly length: number;
}

const contains = (run: Run | undefined, at: number): boolean =>
  run !== undefined && at >= run.start && at < run.start + run.length;

/** The only run of two or more among ascending positions, if more positions are in it than not. */
function mainRun(positions: readonly number[]): Run | undefined {
  const runs: Run[] = [];
  for (const at of positions) {
    const last = runs.at(-1);
    if (last !== undefined && last.start + last.length === at)
      runs[runs.length - 1] = { ...last, length: last.length + 1 };
    else runs.push({ start: at, length: 1 });
  }
  const long = runs.filter(({ length }) => length > 1);
  return long.length === 1 && long[0].length * 2 > positions.length ? long[0] : undefined;
}

/** `a_b_c`: `a`, `a_b`, `a_b_c`. A whole name is a prefix of itself, so that `conv1` is beside `conv1_bn`. */
function prefixesOf(name: string): string[] {
  const prefixes: string[] = [];
  for (const { index } of name.matchAll(/[_/-]+/g)) if (index > 0) prefixes.push(name.slice(0, index));
  return [...prefixes, name];
}

/** Whether the name is more than the class in lower case and a number. */
function hasGivenName(layer: Layer): boolean {
  const stem = stemOf(layer.name);
  return stem.replaceAll("_", "").toLowerCase() !== layer.getClassName().toLowerCase();
}

/** Returns a name without the number at its end, nor the class of a wrapped layer that leads to it: `bidirectional_LSTM1`. */
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
