import * as tfc from "@tensorflow/tfjs-core";
import type { Shape } from "../layer-note.js";
import { givenSizes } from "./known-sizes.js";
import { type Arguments, axesOf, axisFromFront, countOf, numberOf, type Operation, shapeOf } from "./operation.js";

const tensorIn = ({ x }: Arguments): tfc.Tensor => x as tfc.Tensor;
const shapeIn = ({ x }: Arguments): Shape => x as Shape;
const listIn = ({ x }: Arguments): unknown[] => x as unknown[];

/** The order of axes, reversed by default. */
const orderOf = (axes: unknown, rank: number): number[] =>
  axes === undefined || axes === null ? axesOf(axes, rank).reverse() : axesOf(axes, rank);

function swapped(rank: number, a: unknown, b: unknown): number[] {
  const order = axesOf(undefined, rank);
  const [from, to] = [axisFromFront(a, rank), axisFromFront(b, rank)];
  [order[from], order[to]] = [order[to] as number, order[from] as number];
  return order;
}

function moved(rank: number, source: unknown, destination: unknown): number[] {
  const from = axesOf(source, rank);
  const to = axesOf(destination, rank);
  const order = axesOf(undefined, rank).filter((axis) => !from.includes(axis));
  for (const [at, axis] of to.map((at, i) => [at, from[i] as number] as const).sort((a, b) => a[0] - b[0]))
    order.splice(at, 0, axis);
  return order;
}

/** Returns the axes of size 1 to insert, as positions in the result. */
function expandedAxes(axis: unknown, rank: number): number[] {
  const axes = [axis].flat() as number[];
  return axes.map((at) => (at < 0 ? at + rank + axes.length : at)).sort((a, b) => a - b);
}

function squeezedAxes(axis: unknown, shape: Shape): number[] {
  if (axis !== undefined && axis !== null) return axesOf(axis, shape.length);
  return shape.flatMap((size, i) => (size === 1 ? [i] : []));
}

/**
 * Returns the target sizes with the value of -1, if known. If Keras computed a size from a tensor, it is that tensor's
 * size.
 */
function reshaped(from: Shape, target: unknown): Shape {
  const sizes = givenSizes(target);
  const free = sizes.findIndex((size) => size === -1);
  if (free < 0) return sizes;
  const [known, all] = [countOf(sizes.filter((_, i) => i !== free)), countOf(from)];
  const rest = known === null || all === null ? restOf(from, sizes, free) : all / known;
  return sizes.map((size, i) => (i === free ? rest : size));
}

/** Returns the unknown batch (null) for `[null, 4, 6] → [-1, 24]`, and 24 for `[null, 4, 6] → [null, -1]`. */
function restOf(from: Shape, sizes: Shape, free: number): number | null {
  if (free === 0 || sizes[0] !== null || from[0] !== null) return null;
  const [known, all] = [countOf(sizes.filter((_, i) => i > 0 && i !== free)), countOf(from.slice(1))];
  return known === null || all === null ? null : all / known;
}

function parts(sections: unknown, size: number | null): number[] {
  if (typeof sections === "number") return Array.from({ length: sections }, () => (size ?? 0) / sections);
  return sections as number[];
}

/** numpy's split takes the places to cut at, TensorFlow's takes the sizes of the parts. */
function cuts(places: unknown, size: number | null): number[] {
  if (typeof places === "number") return parts(places, size);
  const ends = [...(places as number[]), size ?? 0];
  return ends.map((end, i) => end - (i === 0 ? 0 : (ends[i - 1] as number)));
}

function splitting(sizesOf: (sections: unknown, size: number | null) => number[]): Operation {
  return {
    parameters: ["x", "sections", "axis"],
    run: (args) => {
      const x = tensorIn(args);
      const axis = axisFromFront(args["axis"], x.rank, 0);
      return tfc.split(x, sizesOf(args["sections"], x.shape[axis] as number), axis);
    },
    shape: (args) => {
      const shape = shapeIn(args);
      const axis = axisFromFront(args["axis"], shape.length, 0);
      return sizesOf(args["sections"], shape[axis] as number | null).map((part) =>
        shape.map((size, i) => (i === axis ? part : size)),
      );
    },
  };
}

function permuting(order: (args: Arguments, rank: number) => number[], ...more: readonly string[]): Operation {
  return {
    parameters: ["x", ...more],
    run: (args) => tfc.transpose(tensorIn(args), order(args, tensorIn(args).rank)),
    shape: (args) => order(args, shapeIn(args).length).map((axis) => shapeIn(args)[axis] as number | null),
  };
}

/** Operations that move elements without computing. */
export const reshaping: Readonly<Record<string, Operation>> = {
  reshape: {
    parameters: ["x", "shape"],
    run: (args) => {
      const x = tensorIn(args);
      const sizes = reshaped([null, ...x.shape.slice(1)], args["shape"]);
      return tfc.reshape(
        x,
        sizes.map((size) => size ?? -1),
      );
    },
    shape: (args) => reshaped(shapeIn(args), args["shape"]),
  },
  ravel: {
    parameters: ["x"],
    run: (args) => tfc.reshape(tensorIn(args), [-1]),
    shape: (args) => [countOf(shapeIn(args))],
  },
  transpose: permuting(({ axes }, rank) => orderOf(axes, rank), "axes"),
  swapAxes: permuting(({ axis1, axis2 }, rank) => swapped(rank, axis1, axis2), "axis1", "axis2"),
  moveAxis: permuting(({ source, destination }, rank) => moved(rank, source, destination), "source", "destination"),
  expandDims: {
    parameters: ["x", "axis"],
    run: (args) => {
      const x = tensorIn(args);
      return expandedAxes(args["axis"], x.rank).reduce<tfc.Tensor>((tensor, at) => tfc.expandDims(tensor, at), x);
    },
    shape: (args) => {
      const sizes = [...shapeIn(args)];
      for (const at of expandedAxes(args["axis"], sizes.length)) sizes.splice(at, 0, 1);
      return sizes;
    },
  },
  squeeze: {
    parameters: ["x", "axis"],
    run: (args) => tfc.squeeze(tensorIn(args), squeezedAxes(args["axis"], tensorIn(args).shape)),
    shape: (args) => {
      const gone = squeezedAxes(args["axis"], shapeIn(args));
      return shapeIn(args).filter((_, i) => !gone.includes(i));
    },
  },
  concatenate: {
    parameters: ["x", "axis"],
    run: (args) => {
      const tensors = listIn(args) as tfc.Tensor[];
      return tfc.concat(tensors, axisFromFront(args["axis"], (tensors[0] as tfc.Tensor).rank));
    },
    shape: (args) => {
      const shapes = listIn(args) as Shape[];
      const [first] = shapes as [Shape];
      const axis = axisFromFront(args["axis"], first.length);
      const sum = shapes.reduce<number | null>((all, shape) => {
        const size = shape[axis] as number | null;
        return all === null || size === null ? null : all + size;
      }, 0);
      return first.map((size, i) => (i === axis ? sum : size));
    },
  },
  stack: {
    parameters: ["x", "axis"],
    run: (args) => {
      const tensors = listIn(args) as tfc.Tensor[];
      return tfc.stack(tensors, axisFromFront(args["axis"], (tensors[0] as tfc.Tensor).rank + 1, 0));
    },
    shape: (args) => {
      const [first, { length }] = [(listIn(args) as Shape[])[0] as Shape, listIn(args)];
      const sizes = [...first];
      sizes.splice(axisFromFront(args["axis"], first.length + 1, 0), 0, length);
      return sizes;
    },
  },
  unstack: {
    parameters: ["x", "num", "axis"],
    run: (args) => tfc.unstack(tensorIn(args), axisFromFront(args["axis"], tensorIn(args).rank, 0)),
    shape: (args) => {
      const shape = shapeIn(args);
      const axis = axisFromFront(args["axis"], shape.length, 0);
      const rest = shape.filter((_, i) => i !== axis);
      return Array.from({ length: numberOf(args["num"], shape[axis] ?? 0) }, () => rest);
    },
  },
  split: splitting(parts),
  splitAt: splitting(cuts),
  tile: {
    parameters: ["x", "repeats"],
    run: (args) => {
      const [x, repeats] = aligned(tensorIn(args).shape, args["repeats"]);
      return tfc.tile(tfc.reshape(tensorIn(args), x as number[]), repeats);
    },
    shape: (args) => {
      const [sizes, repeats] = aligned(shapeIn(args), args["repeats"]);
      return sizes.map((size, i) => (size === null ? null : size * (repeats[i] as number)));
    },
  },
  repeat: {
    parameters: ["x", "repeats", "axis"],
    run: (args) => {
      const [x, times] = [tensorIn(args), numberOf(args["repeats"], 1)];
      const axis = axisFromFront(args["axis"], x.rank);
      const index = Array.from({ length: (x.shape[axis] as number) * times }, (_, i) => Math.floor(i / times));
      return tfc.gather(x, tfc.tensor1d(index, "int32"), axis);
    },
    shape: (args) => {
      const axis = axisFromFront(args["axis"], shapeIn(args).length);
      return shapeIn(args).map((size, i) => (i === axis && size !== null ? size * numberOf(args["repeats"], 1) : size));
    },
  },
  flip: {
    parameters: ["x", "axis"],
    run: (args) => tfc.reverse(tensorIn(args), axesOf(args["axis"], tensorIn(args).rank)),
    shape: shapeIn,
  },
  pad: {
    parameters: ["x", "padWidth", "mode", "value"],
    run: (args) => {
      const x = tensorIn(args);
      const widths = paddings(args["padWidth"], x.rank);
      const mode = String(args["mode"] ?? "constant").toLowerCase();
      if (mode === "reflect" || mode === "symmetric") return mirrored(x, widths, mode === "reflect" ? 1 : 0);
      return tfc.pad(x, widths, numberOf(args["value"], 0));
    },
    shape: (args) => {
      const widths = paddings(args["padWidth"], shapeIn(args).length);
      return shapeIn(args).map((size, i) =>
        size === null ? null : size + (widths[i] as [number, number])[0] + (widths[i] as [number, number])[1],
      );
    },
  },
  take: {
    parameters: ["x", "indices", "axis"],
    run: (args) => {
      const [x, given] = [tensorIn(args), args["indices"]];
      const indices =
        given instanceof tfc.Tensor ? tfc.cast(given, "int32") : tfc.tensor(given as number[], undefined, "int32");
      return tfc.gather(x, indices as tfc.Tensor1D, axisFromFront(args["axis"], x.rank, 0));
    },
    shape: (args) => {
      const shape = shapeIn(args);
      const axis = axisFromFront(args["axis"], shape.length, 0);
      return [...shape.slice(0, axis), ...shapeOf(args["indices"]), ...shape.slice(axis + 1)];
    },
  },
};

/** Pads sizes and repeats with ones in front to the same number of axes. */
function aligned(shape: Shape, given: unknown): [Shape, number[]] {
  const repeats = [given].flat() as number[];
  const rank = Math.max(shape.length, repeats.length);
  const ones = (count: number): number[] => Array.from({ length: rank - count }, () => 1);
  return [
    [...ones(shape.length), ...shape],
    [...ones(repeats.length), ...repeats],
  ];
}

/**
 * Pads with the values next to each side, mirrored. `skipped` leaves out the first of them if it is 1. (The gradient of
 * tfjs-core's own version ignores the padding.)
 */
function mirrored(x: tfc.Tensor, widths: readonly (readonly [number, number])[], skipped: 0 | 1): tfc.Tensor {
  return widths.reduce((padded, [before, after], axis) => {
    if (before === 0 && after === 0) return padded;
    const size = padded.shape[axis] as number;
    const places = Array.from({ length: before + size + after }, (_, i) => {
      const at = i - before;
      if (at < 0) return -at - 1 + skipped;
      return at < size ? at : 2 * size - 1 - at - skipped;
    });
    return tfc.gather(padded, tfc.tensor1d(places, "int32"), axis);
  }, x);
}

function paddings(width: unknown, rank: number): [number, number][] {
  if (typeof width === "number") return Array.from({ length: rank }, () => [width, width]);
  const widths = width as (number | number[])[];
  if (typeof widths[0] === "number") return Array.from({ length: rank }, () => widths as [number, number]);
  return widths as [number, number][];
}
