import { type GradientsCall, isVariable } from "@remat/dispatch-hook";

/**
 * Returns a key that distinguishes passes by the gradients they compute: variables by name, other tensors by shape.
 * @internal
 */
export function askedGradients({ xs }: GradientsCall): string {
  return xs.map((x) => (isVariable(x) ? x.name : x.shape.join("x"))).join(" ");
}
