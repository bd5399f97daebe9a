import { customGrad, scalar, type Tensor, tidy, zerosLike } from "@tensorflow/tfjs-core";

/** Returns the result of `make` as a constant for the gradient, so that the tape does not see its origin. */
export function detached(make: () => Tensor): Tensor {
  const constant = customGrad((...args) => ({
    value: make(),
    gradFunc: (_dy: Tensor, _saved: Tensor[]) => zerosLike(args[0] as Tensor),
  }));
  return tidy(() => constant(scalar(0)));
}
