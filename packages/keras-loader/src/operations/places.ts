import * as tfc from "@tensorflow/tfjs-core";
import type { Shape } from "../layer-note.js";
import { detached } from "./detached.js";
import { alongLast } from "./elementwise.js";
import { type Arguments, axisFromFront, numberOf, type Operation, shapeOf } from "./operation.js";

/** Takes elements from each row of the last axis, at the indices in the same row of `places`. */
function takeAlongLast(x: tfc.Tensor, places: tfc.Tensor): tfc.Tensor {
  const width = x.shape.at(-1) as number;
  const rows = x.size / width;
  const starts = tfc.reshape(tfc.mul(tfc.range(0, rows, 1, "int32"), tfc.scalar(width, "int32")), [rows, 1]);
  const flat = tfc.add(tfc.reshape(tfc.cast(places, "int32"), [rows, -1]), starts);
  const taken = tfc.gather(tfc.reshape(x, [-1]), tfc.reshape(flat, [-1]) as tfc.Tensor1D);
  return tfc.reshape(taken, [...x.shape.slice(0, -1), places.shape.at(-1) as number]);
}

function topK({ x, count, sorted }: Arguments): [tfc.Tensor, tfc.Tensor] {
  const tensor = x as tfc.Tensor;
  const indices = detached(() => tfc.topk(tensor, numberOf(count, 1), sorted !== false).indices);
  // tfjs-core has no gradient for the values that `topk` finds, but has one for taking elements.
  return [takeAlongLast(tensor, indices), indices];
}

function topKShape({ x, count }: Arguments): [Shape, Shape] {
  const shape = [...(x as Shape).slice(0, -1), numberOf(count, 1)];
  return [shape, shape];
}

/** Moves channels to squares of `size`, or squares of `size` to channels. */
function depth(
  run: (x: tfc.Tensor, sizes: readonly [number, number, number, number], size: number) => tfc.Tensor,
  isInto: boolean,
): Operation {
  return {
    parameters: ["x", "size"],
    run: ({ x, size }) =>
      run(x as tfc.Tensor, (x as tfc.Tensor).shape as [number, number, number, number], numberOf(size, 1)),
    shape: ({ x, size }) => {
      const [batch = null, height = null, width = null, channels = null] = x as Shape;
      const by = numberOf(size, 1);
      const times = (value: number | null, factor: number): number | null => (value === null ? null : value * factor);
      return [
        batch,
        times(height, isInto ? 1 / by : by),
        times(width, isInto ? 1 / by : by),
        times(channels, isInto ? by * by : 1 / (by * by)),
      ];
    },
  };
}

/** Operations that select elements by index or size. */
export const ofPlaces: Readonly<Record<string, Operation>> = {
  topK: { parameters: ["x", "count", "sorted"], run: topK, shape: topKShape },
  takeAlongAxis: {
    parameters: ["x", "indices", "axis"],
    run: ({ x, indices, axis }) => {
      const [tensor, places] = [x as tfc.Tensor, indices as tfc.Tensor];
      const at = axisFromFront(axis, tensor.rank);
      const order = Array.from({ length: tensor.rank }, (_, i) => i);
      [order[at], order[tensor.rank - 1]] = [tensor.rank - 1, at];
      return alongLast(tensor, at, (last) =>
        takeAlongLast(last, at === tensor.rank - 1 ? places : tfc.transpose(places, order)),
      );
    },
    shape: ({ indices }) => shapeOf(indices),
  },
  roll: {
    parameters: ["x", "shift", "axis"],
    run: ({ x, shift, axis }) => {
      const tensor = x as tfc.Tensor;
      const axes = [axis].flat() as number[];
      return ([shift].flat() as number[]).reduce((rolled, by, i) => {
        const at = axisFromFront(axes[i], tensor.rank);
        const size = tensor.shape[at] as number;
        const places = Array.from({ length: size }, (_, place) => (((place - by) % size) + size) % size);
        return tfc.gather(rolled, tfc.tensor1d(places, "int32"), at);
      }, tensor);
    },
    shape: ({ x }) => x as Shape,
  },
  depthToSpace: depth((x, [batch, height, width, channels], by) => {
    const parts = tfc.reshape(x, [batch, height, width, by, by, channels / (by * by)]);
    return tfc.reshape(tfc.transpose(parts, [0, 1, 3, 2, 4, 5]), [
      batch,
      height * by,
      width * by,
      channels / (by * by),
    ]);
  }, false),
  spaceToDepth: depth((x, [batch, height, width, channels], by) => {
    const parts = tfc.reshape(x, [batch, height / by, by, width / by, by, channels]);
    return tfc.reshape(tfc.transpose(parts, [0, 1, 3, 2, 4, 5]), [batch, height / by, width / by, channels * by * by]);
  }, true),
};
