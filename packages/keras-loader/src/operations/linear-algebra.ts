import * as tfc from "@tensorflow/tfjs-core";
import type { Shape } from "../layer-note.js";
import { contract, subscripts } from "./contract.js";
import { tensorOf } from "./elementwise.js";
import { type Arguments, broadcastShapes, type Operation, shapeOf } from "./operation.js";

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

/** numpy's product: a vector on the left is a row, on the right a column, and neither is in the result. */
function matMul(a: tfc.Tensor, b: tfc.Tensor, transposeA: boolean, transposeB: boolean): tfc.Tensor {
  const left = a.rank === 1 ? tfc.expandDims(a, 0) : a;
  const right = b.rank === 1 ? tfc.expandDims(b, 1) : b;
  const product = tfc.matMul(left, right, transposeA, transposeB);
  const gone = [...(a.rank === 1 ? [product.rank - 2] : []), ...(b.rank === 1 ? [product.rank - 1] : [])];
  return gone.length === 0 ? product : tfc.squeeze(product, gone);
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
    shape: ({ operands, equation }) => {
      const { inputs, output } = subscripts(String(equation));
      const sizes = new Map<string, number | null>();
      inputs.forEach((letters, i) => {
        [...letters].forEach((letter, axis) => {
          const size = shapeOf((operands as unknown[])[i])[axis] ?? null;
          sizes.set(letter, sizes.get(letter) ?? size);
        });
      });
      return [...output].map((letter) => sizes.get(letter) ?? null);
    },
  },
};
