import * as tfc from "@tensorflow/tfjs-core";
import type { Shape } from "../layer-note.js";
import { contract } from "./contract.js";
import { type Arguments, axisFromFront, numberOf, type Operation } from "./operation.js";

const sizeOf = ({ size }: Arguments): [number, number] => size as [number, number];

/**
 * Interpolation weights from the elements of an axis to each of `size` results. `fill` writes one row, given the place.
 */
function weights(from: number, size: number, fill: (place: number, row: number[]) => void): tfc.Tensor2D {
  const rows = Array.from({ length: size }, (_, i) => {
    const row = Array.from({ length: from }, () => 0);
    fill(((i + 0.5) * from) / size - 0.5, row);
    return row;
  });
  return tfc.tensor2d(rows);
}

const nearestWeights = (from: number, size: number): tfc.Tensor2D =>
  weights(from, size, (place, row) => {
    row[Math.min(from - 1, Math.max(0, Math.floor(place + 0.5)))] = 1;
  });

const bilinearWeights = (from: number, size: number): tfc.Tensor2D =>
  weights(from, size, (place, row) => {
    const low = Math.floor(place);
    const [below, above] = [Math.max(0, low), Math.min(from - 1, low + 1)];
    row[below] = (row[below] as number) + 1 - (place - low);
    row[above] = (row[above] as number) + place - low;
  });

/**
 * Resizing and one-hot encoding. Resizing multiplies with matrices of interpolation weights, because tfjs-core's own
 * resize operations have other gradients than this interpolation.
 */
export const images: Readonly<Record<string, Operation>> = {
  resize: {
    parameters: ["x", "size", "method"],
    run: (args) => {
      const x = args["x"] as tfc.Tensor;
      const weightsOf = String(args["method"] ?? "bilinear") === "nearest" ? nearestWeights : bilinearWeights;
      const [height, width] = sizeOf(args);
      const rows = weightsOf(x.shape.at(-3) as number, height);
      const columns = weightsOf(x.shape.at(-2) as number, width);
      return x.rank === 3
        ? contract("hwc,Hh,Ww->HWc", x, rows, columns)
        : contract("bhwc,Hh,Ww->bHWc", x, rows, columns);
    },
    shape: (args) => {
      const shape = args["x"] as Shape;
      return [...shape.slice(0, -3), ...sizeOf(args), shape.at(-1) ?? null];
    },
  },
  oneHot: {
    parameters: ["x", "classes", "axis"],
    run: (args) => {
      const x = args["x"] as tfc.Tensor;
      const hot = tfc.cast(tfc.oneHot(tfc.cast(x, "int32"), numberOf(args["classes"], 0)), "float32");
      const axis = axisFromFront(args["axis"], x.rank + 1);
      if (axis === x.rank) return hot;
      const order = Array.from({ length: x.rank }, (_, i) => i);
      order.splice(axis, 0, x.rank);
      return tfc.transpose(hot, order);
    },
    shape: (args) => {
      const shape = [...(args["x"] as Shape)];
      shape.splice(axisFromFront(args["axis"], shape.length + 1), 0, numberOf(args["classes"], 0));
      return shape;
    },
  },
};
