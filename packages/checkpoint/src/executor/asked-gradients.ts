import { type GradientsCall, isVariable } from "@remat/dispatch-hook";

/** Tells passes apart by the gradients that they are asked for: of variables by name, of other tensors by shape. @internal */
export function askedGradients({ xs }: GradientsCall): string {
  return xs.map((x) => (isVariable(x) ? x.name : x.shape.join("x"))).join(" ");
}
