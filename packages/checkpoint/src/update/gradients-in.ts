import type { UpdateCall } from "@remat/dispatch-hook";
import type { NamedTensorMap, Tensor } from "@tensorflow/tfjs-core";

/** Returns the gradients in the order of the update, undefined for missing ones. @internal */
export function gradientsIn({ gradients }: UpdateCall): readonly (Tensor | undefined)[] {
  const tensors = Array.isArray(gradients)
    ? (gradients as readonly { readonly tensor: Tensor | undefined }[]).map(({ tensor }) => tensor)
    : Object.values(gradients as NamedTensorMap);
  return tensors.map((tensor) => tensor ?? undefined);
}
