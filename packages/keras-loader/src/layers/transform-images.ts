import {
  add,
  cast,
  clipByValue,
  floor,
  floorDiv,
  gather,
  greater,
  greaterEqual,
  less,
  lessEqual,
  logicalAnd,
  maximum,
  minimum,
  mod,
  mul,
  neg,
  range,
  reshape,
  sub,
  type Tensor,
  where,
} from "@tensorflow/tfjs-core";

/** Values beyond the edges and between pixels. */
export interface TransformOptions {
  readonly fillMode: "reflect" | "wrap" | "constant" | "nearest";
  readonly fillValue: number;
  readonly interpolation: "bilinear" | "nearest";
}

/**
 * Transforms images `[batch, height, width, channels]`: the output at (x, y) is the input at (a x + b y + c, d x + e y
 * + f). `parts` are these six numbers, each `[batch, 1]`. It replaces `image.transform` of TensorFlow.js: the native
 * backend lacks it, and on cpu it transforms only the first image.
 */
export function transformImages(x: Tensor, parts: readonly Tensor[], options: TransformOptions): Tensor {
  const [batch, height, width, channels] = x.shape as [number, number, number, number];
  const [a, b, c, d, e, f] = parts as [Tensor, Tensor, Tensor, Tensor, Tensor, Tensor];
  const places = cast(range(0, height * width), "float32");
  const down = reshape(floor(mul(add(places, 0.5), 1 / width)), [1, height * width]);
  const across = sub(reshape(places, [1, height * width]), mul(down, width));
  const at = (u: Tensor, v: Tensor, w: Tensor): Tensor => add(add(mul(u, across), mul(v, down)), w);
  const column = insideOf(at(a, b, c), width, options.fillMode);
  const row = insideOf(at(d, e, f), height, options.fillMode);
  const pixels = reshape(x, [batch * height * width, channels]);
  const first = mul(reshape(cast(range(0, batch), "float32"), [batch, 1]), height * width);
  const read = (rows: Tensor, columns: Tensor): Tensor => {
    const isThere = logicalAnd(isWithin(rows, height), isWithin(columns, width));
    const kept = add(mul(clipByValue(rows, 0, height - 1), width), clipByValue(columns, 0, width - 1));
    const found = gather(pixels, cast(reshape(add(first, kept), [-1]), "int32"));
    const there = reshape(cast(isThere, "float32"), [-1, 1]);
    return add(mul(found, there), mul(sub(1, there), options.fillValue));
  };
  if (options.interpolation === "nearest") return reshape(read(floor(add(row, 0.5)), floor(add(column, 0.5))), x.shape);
  const [top, left] = [floor(row), floor(column)];
  const [bottom, right] = [add(top, 1), add(left, 1)];
  const weighted = (rows: Tensor, columns: Tensor, high: Tensor, wide: Tensor): Tensor =>
    mul(read(rows, columns), reshape(mul(high, wide), [-1, 1]));
  const [toBottom, toTop] = [sub(bottom, row), sub(row, top)];
  const [toRight, toLeft] = [sub(right, column), sub(column, left)];
  const above = add(weighted(top, left, toBottom, toRight), weighted(top, right, toBottom, toLeft));
  const below = add(weighted(bottom, left, toTop, toRight), weighted(bottom, right, toTop, toLeft));
  return reshape(add(above, below), x.shape);
}

const isWithin = (place: Tensor, size: number): Tensor =>
  logicalAnd(greaterEqual(place, 0), lessEqual(place, size - 1));

/** Returns the place to read for a place that may be beyond the edges of an image of `size`. */
function insideOf(place: Tensor, size: number, fillMode: TransformOptions["fillMode"]): Tensor {
  if (fillMode === "constant") return place;
  return maximum(0, minimum(fillMode === "nearest" ? place : repeated(place, size, fillMode), size - 1));
}

function repeated(place: Tensor, size: number, fillMode: "reflect" | "wrap"): Tensor {
  if (size <= 1) return mul(place, 0);
  if (fillMode === "reflect") {
    const within = mod(place, 2 * size);
    return where(less(within, size), within, sub(2 * size - 1, within));
  }
  // Shifts by multiples of the size, but counts them in units of the size minus one, as TensorFlow does.
  const before = add(place, mul(size, add(floorDiv(neg(place), size - 1), 1)));
  const after = sub(place, mul(size, floorDiv(place, size - 1)));
  return where(less(place, 0), before, where(greater(place, size - 1), after, place));
}
