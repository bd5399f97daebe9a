/**
 * Operator packets without cost in the roofline model, even if they move data: metadata changes and tensor creation.
 * Source: `_IGNORE_OPS` of torch/utils/_runtime_estimation.py (2.13). Names are without overload: `aten.view.default`
 * is `view`.
 */
export const freePackets: ReadonlySet<string> = new Set(
  [
    "lift_fresh t transpose view detach _unsafe_view split adjoint as_strided diagonal expand expand_as movedim permute",
    "select squeeze mT mH real imag view_as unflatten unfold unbind unsqueeze vsplit hsplit split_with_sizes swapaxes",
    "swapdims chunk",
    "randint randn rand randn_like rand_like randint_like arange ones_like zeros_like",
  ].flatMap((packets) => packets.split(" ")),
);

/**
 * Returns the packet of an ATen op: `addmm` for `aten.addmm.default`. Undefined for an op outside of the ATen
 * namespace.
 */
export function atenPacket(name: string): string | undefined {
  if (!name.startsWith("aten.")) return undefined;
  const end = name.indexOf(".", 5);
  return end < 0 ? name.slice(5) : name.slice(5, end);
}
