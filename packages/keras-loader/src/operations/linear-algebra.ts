import * as tfc from "@tensorflow/tfjs-core";
import type { Shape } from "../layer-note.js";
import { contract, subscripts } from "./contract.js";
import { tensorOf } from "./elementwise.js";
import { type Arguments, axesOf, broadcastShapes, numberOf, type Operation, shapeOf } from "./operation.js";

const both = ({ x1, x2 }: Arguments): [tfc.Tensor, tfc.Tensor] => {
  const like = (x1 instanceof tfc.Tensor ? x1 : x2) as tfc.Tensor;
  return [tensorOf(x1, like), tensorOf(x2, like)];
};

function matMulShape({ x1, x2, transposeA, transposeB }: Arguments): Shape {
  const [a, b] = [[...shapeOf(x1)], [...shapeOf(x2)]];
  const [isRow, isColumn] = [a.length === 1, b.length === 1];
  if (isRow) a.unshift(1);
  if (isColumn) b.push(1);
  const rows = transposeA === true ? a.at(-1) : a.at(-2);
  const columns = transposeB === true ? b.at(-2) : b.at(-1);
  const batch = broadcastShapes(a.slice(0, -2), b.slice(0, -2));
  return [...batch, ...(isRow ? [] : [rows ?? null]), ...(isColumn ? [] : [columns ?? null])];
}

/** numpy's product: a vector on the left is a row, on the right a column, and the result has neither axis. */
function matMul(a: tfc.Tensor, b: tfc.Tensor, transposeA: boolean, transposeB: boolean): tfc.Tensor {
  const left = a.rank === 1 ? tfc.expandDims(a, 0) : a;
  const right = b.rank === 1 ? tfc.expandDims(b, 1) : b;
  const product = tfc.matMul(left, right, transposeA, transposeB);
  const gone = [...(a.rank === 1 ? [product.rank - 2] : []), ...(b.rank === 1 ? [product.rank - 1] : [])];
  return gone.length === 0 ? product : tfc.squeeze(product, gone);
}

/** Returns an equation for {@link contract} in which the summed axes of both tensors have the same letters. */
function letteredAxes(ranks: readonly [number, number], axes: unknown): string {
  const [of1, of2] = ranks;
  const [from, to] = Array.isArray(axes)
    ? (axes as [number | number[], number | number[]]).map((each, i) => axesOf(each, ranks[i] as number))
    : [
        Array.from({ length: numberOf(axes, 2) }, (_, i) => of1 - numberOf(axes, 2) + i),
        axesOf(undefined, numberOf(axes, 2)),
      ];
  const letters = [..."abcdefghijklmnopqrstuvwxyz"];
  const first = letters.slice(0, of1);
  const second = letters.slice(of1, of1 + of2);
  (from as number[]).forEach((axis, i) => {
    second[(to as number[])[i] as number] = first[axis] as string;
  });
  const out = [
    ...first.filter((letter) => !second.includes(letter)),
    ...second.filter((letter) => !first.includes(letter)),
  ];
  return `${first.join("")},${second.join("")}->${out.join("")}`;
}

function contractedShape(equation: string, shapes: readonly Shape[]): Shape {
  const { inputs, output } = subscripts(equation);
  const sizes = new Map<string, number | null>();
  inputs.forEach((letters, i) => {
    [...letters].forEach((letter, axis) => {
      sizes.set(letter, sizes.get(letter) ?? shapes[i]?.[axis] ?? null);
    });
  });
  return [...output].map((letter) => sizes.get(letter) ?? null);
}

/** A product over axes of two tensors, given as an equation of their ranks. */
function product(equationOf: (ranks: readonly [number, number], args: Arguments) => string): Operation {
  return {
    parameters: ["x1", "x2", "axes"],
    run: (args) => {
      const [a, b] = both(args);
      return contract(equationOf([a.rank, b.rank], args), a, b);
    },
    shape: (args) => {
      const shapes = [shapeOf(args["x1"]), shapeOf(args["x2"])] as const;
      return contractedShape(equationOf([shapes[0].length, shapes[1].length], args), shapes);
    },
  };
}

/** Keeps the elements of each matrix for which `isKept` returns true. The others become 0. */
function triangle(isKept: (beyond: number, diagonal: number) => boolean): Operation {
  return {
    parameters: ["x", "diagonal"],
    run: ({ x, diagonal }) => {
      const tensor = x as tfc.Tensor;
      const [rows, columns] = tensor.shape.slice(-2) as [number, number];
      const kept = Array.from({ length: rows * columns }, (_, i) =>
        Number(isKept((i % columns) - Math.floor(i / columns), numberOf(diagonal, 0))),
      );
      return tfc.mul(tensor, tfc.tensor2d(kept, [rows, columns]));
    },
    shape: ({ x }) => x as Shape,
  };
}

/** Operations that multiply matrices. */
export const linearAlgebra: Readonly<Record<string, Operation>> = {
  matMul: {
    parameters: ["x1", "x2", "transposeA", "transposeB"],
    run: (args) => matMul(...both(args), args["transposeA"] === true, args["transposeB"] === true),
    shape: matMulShape,
  },
  einsum: {
    parameters: ["operands", "equation"],
    run: ({ operands, equation }) => contract(String(equation), ...(operands as tfc.Tensor[])),
    shape: ({ operands, equation }) => contractedShape(String(equation), (operands as unknown[]).map(shapeOf)),
  },
  tensorDot: product((ranks, { axes }) => letteredAxes(ranks, axes)),
  /** numpy's product over the last axis of the first tensor and the second to last (or only) axis of the second. */
  dot: product((ranks) => letteredAxes(ranks, [ranks[0] - 1, Math.max(0, ranks[1] - 2)])),
  lowerTriangle: triangle((beyond, diagonal) => beyond <= diagonal),
  upperTriangle: triangle((beyond, diagonal) => beyond >= diagonal),
};
