import * as tfc from "@tensorflow/tfjs-core";
import { isObject } from "../json.js";
import type { Shape } from "../layer-note.js";
import { sizesIn, withSizes } from "./known-sizes.js";
import type { Arguments, Operation } from "./operation.js";

interface Range {
  readonly start: number | null;
  readonly stop: number | null;
  readonly step: number;
}

/** Index for one axis: a range, one place (which removes the axis), a new axis, or all remaining axes. */
type Item = { readonly range: Range } | { readonly place: number } | "new" | "rest";

/**
 * `x[…]` with numpy's rules for numbers, slices, None and an ellipsis. Keras 2 writes `{start, stop, step}`, and Keras
 * 3 a class for each.
 */
export const slicing: Readonly<Record<string, Operation>> = {
  getItem: {
    parameters: ["x", "key"],
    run: (args: Arguments) => {
      const [x, items] = [args["x"] as tfc.Tensor, itemsOf(args)];
      const sizes = sizesIn(x);
      const taken = run(x, items);
      return sizes === undefined ? taken : withSizes(taken, sliced(sizes, items));
    },
    shape: (args: Arguments) => shape(args["x"] as Shape, itemsOf(args)),
  },
  /** `tf.slice`: where to begin, and how many. -1 means all. */
  slice: {
    parameters: ["x", "begin", "size"],
    run: ({ x, begin, size }: Arguments) => tfc.slice(x as tfc.Tensor, begin as number[], size as number[]),
    shape: ({ x, begin, size }: Arguments) =>
      (x as Shape).map((all, i) => {
        const wanted = (size as number[])[i] as number;
        return wanted >= 0 ? wanted : all === null ? null : all - ((begin as number[])[i] as number);
      }),
  },
};

/** The sizes that `x[…]` takes from a list. */
function sliced(sizes: readonly number[], [item]: readonly Item[]): readonly number[] {
  if (item === undefined || item === "new" || item === "rest") return sizes;
  if ("place" in item) return [sizes.at(item.place) as number];
  const { begin, count } = extent(item.range, sizes.length);
  return Array.from({ length: count }, (_, i) => sizes[begin + i * item.range.step] as number);
}

function itemsOf({ x, key }: Arguments): Item[] {
  const keys = Array.isArray(key) ? key : [key];
  const items = keys.map(readItem);
  const rank = x instanceof tfc.Tensor ? x.rank : (x as Shape).length;
  const used = items.filter((item) => item !== "new" && item !== "rest").length;
  const whole = Array.from(
    { length: Math.max(0, rank - used) },
    (): Item => ({ range: { start: null, stop: null, step: 1 } }),
  );
  const rest = items.indexOf("rest");
  return rest < 0 ? [...items, ...whole] : items.toSpliced(rest, 1, ...whole);
}

function readItem(key: unknown): Item {
  if (key === null) return "new";
  if (typeof key === "number") return { place: key };
  if (!isObject(key)) return "rest";
  const name = String(key["class_name"] ?? "");
  if (name.includes("ellipsis")) return "rest";
  const of = isObject(key["config"]) ? key["config"] : key;
  const number = (value: unknown): number | null => (typeof value === "number" ? value : null);
  return { range: { start: number(of["start"]), stop: number(of["stop"]), step: number(of["step"]) ?? 1 } };
}

/** Start of a range on an axis of `size`, and its number of elements. */
function extent({ start, stop, step }: Range, size: number): { readonly begin: number; readonly count: number } {
  const place = (at: number | null, otherwise: number): number => {
    const from = at === null ? otherwise : at < 0 ? at + size : at;
    return Math.max(step > 0 ? 0 : -1, Math.min(from, step > 0 ? size : size - 1));
  };
  const begin = place(start, step > 0 ? 0 : size - 1);
  const end = stop === null ? (step > 0 ? size : -1) : place(stop, 0);
  return { begin, count: Math.max(0, Math.ceil((end - begin) / step)) };
}

function run(x: tfc.Tensor, items: readonly Item[]): tfc.Tensor {
  let taken = x;
  let axis = 0;
  const sizes: number[] = [];
  for (const item of items) {
    if (item === "new") sizes.push(1);
    else if (item !== "rest") {
      const size = x.shape[axis] as number;
      const range = "range" in item ? item.range : { start: item.place, stop: null, step: 1 };
      const { begin, count } = extent(range, size);
      const length = "range" in item ? count : 1;
      taken = takeRange(taken, axis, { begin, count: length, step: range.step });
      if ("range" in item) sizes.push(length);
      axis++;
    }
  }
  return tfc.reshape(taken, sizes);
}

function takeRange(
  x: tfc.Tensor,
  axis: number,
  { begin, count, step }: { readonly begin: number; readonly count: number; readonly step: number },
): tfc.Tensor {
  if (begin === 0 && step === 1 && count === x.shape[axis]) return x;
  if (step === 1) {
    const begins = x.shape.map((_, i) => (i === axis ? begin : 0));
    return tfc.slice(
      x,
      begins,
      x.shape.map((all, i) => (i === axis ? count : all)),
    );
  }
  const places = Array.from({ length: count }, (_, i) => begin + i * step);
  return tfc.gather(x, tfc.tensor1d(places, "int32"), axis);
}

function shape(from: Shape, items: readonly Item[]): Shape {
  const sizes: (number | null)[] = [];
  let axis = 0;
  for (const item of items) {
    if (item === "new") sizes.push(1);
    else if (item !== "rest") {
      const size = from[axis++] as number | null;
      if (!("range" in item)) continue;

      sizes.push(size === null ? null : extent(item.range, size).count);
    }
  }
  return sizes;
}
