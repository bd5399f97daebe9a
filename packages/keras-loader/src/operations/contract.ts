import { matMul, mul, reshape, sum, type Tensor, transpose } from "@tensorflow/tfjs-core";

/** A tensor and the letters of its axes. */
interface Lettered {
  readonly tensor: Tensor;
  readonly letters: string;
}

/**
 * Sums products of tensors over the letters of an equation, like numpy's `einsum`. It uses kernels that have gradients,
 * which `einsum` of tfjs-core lacks. A letter may occur once per operand, and an ellipsis is not supported.
 *
 * @throws Error if the equation has an ellipsis or a diagonal
 */
export function contract(equation: string, ...operands: readonly Tensor[]): Tensor {
  const { inputs, output } = subscripts(equation);
  if (inputs.length !== operands.length)
    throw new Error(`'${equation}' needs ${inputs.length} tensors, found ${operands.length}`);
  const refused = [...inputs, output].find(
    (letters) => letters.includes(".") || new Set(letters).size < letters.length,
  );
  if (refused !== undefined) throw new Error(`'${refused}' in '${equation}': ellipses and diagonals are not supported`);
  let held: Lettered = { tensor: operands[0] as Tensor, letters: inputs[0] as string };
  operands.slice(1).forEach((tensor, i) => {
    const later = inputs.slice(i + 2).join("") + output;
    held = multiply(held, { tensor, letters: inputs[i + 1] as string }, later);
  });
  return arrange(sumAway(held, output), output);
}

/**
 * Returns the letters of each operand and of the result. By default the result has the letters that occur once, in
 * alphabetical order.
 */
export function subscripts(equation: string): { readonly inputs: readonly string[]; readonly output: string } {
  const [left, right] = equation.replaceAll(" ", "").split("->") as [string, string?];
  const once = [...new Set(left.replaceAll(",", ""))].filter((letter) => left.split(letter).length === 2);
  return { inputs: left.split(","), output: right ?? once.sort().join("") };
}

/** Multiplies two tensors, summed over the letters that both have and that are not in `later`. */
function multiply(first: Lettered, second: Lettered, later: string): Lettered {
  const a = sumAway(first, second.letters + later);
  const b = sumAway(second, first.letters + later);
  const shared = [...a.letters].filter((letter) => b.letters.includes(letter));
  const batch = shared.filter((letter) => later.includes(letter)).join("");
  const summed = shared.filter((letter) => !later.includes(letter)).join("");
  const rows = [...a.letters].filter((letter) => !shared.includes(letter)).join("");
  const columns = [...b.letters].filter((letter) => !shared.includes(letter)).join("");
  const sizes = new Map([...sizesOf(a), ...sizesOf(b)]);
  const of = (letters: string): number[] => [...letters].map((letter) => sizes.get(letter) as number);
  const count = (letters: string): number => of(letters).reduce((product, size) => product * size, 1);
  const left = reshape(arrange(a, batch + rows + summed), [count(batch), count(rows), count(summed)]);
  const right = reshape(arrange(b, batch + summed + columns), [count(batch), count(summed), count(columns)]);
  // Without summed letters and rows this is an elementwise product, which is the same as a matrix product of width 1.
  const product = summed === "" && rows === "" ? mul(left, right) : matMul(left, right);
  const letters = batch + rows + columns;
  return { tensor: reshape(product, of(letters)), letters };
}

const sizesOf = ({ tensor, letters }: Lettered): [string, number][] =>
  [...letters].map((letter, axis) => [letter, tensor.shape[axis] as number]);

function sumAway({ tensor, letters }: Lettered, kept: string): Lettered {
  const axes = [...letters].flatMap((letter, axis) => (kept.includes(letter) ? [] : [axis]));
  if (axes.length === 0) return { tensor, letters };
  return { tensor: sum(tensor, axes), letters: [...letters].filter((letter) => kept.includes(letter)).join("") };
}

function arrange({ tensor, letters }: Lettered, order: string): Tensor {
  if (letters === order) return tensor;
  return transpose(
    tensor,
    [...order].map((letter) => letters.indexOf(letter)),
  );
}
