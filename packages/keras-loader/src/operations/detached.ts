import { customGrad, scalar, type Tensor, tidy, zerosLike } from "@tensorflow/tfjs-core";

/** Returns what `make` makes, which the gradient takes for a constant: not made, for all that the tape knows, of any tensor. */
export function detached(make: () => Tensor): Tensor {
  const constant = customGrad((...args) => ({
    value: make(),
    gradFunc: (_dy: Tensor, _saved: Tensor[]) => zerosLike(args[0] as Tensor),
  }));
  return tidy(() => constant(scalar(0)));
}
