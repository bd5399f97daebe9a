import { atenCost } from "./aten/aten-cost.js";
import type { OpCall, OpCost } from "./op-call.js";
import { contractionMultiplyAdds } from "./tfjs/contraction-flops.js";
import { tfjsCost } from "./tfjs/tfjs-cost.js";

/**
 * Returns the FLOPs and bytes of one op call. `framework` comes from the trace header. For `pytorch`, it counts like
 * PyTorch's own FLOP registry and roofline model. For any other framework, it counts TensorFlow.js kernels.
 *
 * @example
 * opCost({ name: "aten.mm.default", inputs: [a, b], outputs: [c] }, "pytorch").flops; // 2 · m · n · k
 */
export function opCost(call: OpCall, framework: string): OpCost {
  return framework === "pytorch" ? atenCost(call) : tfjsCost(call);
}

/** Returns the FLOPs of one op call. See {@link opCost}. */
export function flopsOf(call: OpCall, framework: string): number {
  return opCost(call, framework).flops;
}

/**
 * Returns the multiply-adds of one op call, as papers count them. Only matrix products and convolutions have any.
 * PyTorch's registry has FLOPs only for these ops.
 */
export function multiplyAddsOf(call: OpCall, framework: string): number {
  return framework === "pytorch" ? atenCost(call).flops / 2 : contractionMultiplyAdds(call);
}

/** Returns the bytes that one op call reads and writes. See {@link opCost}. */
export function bytesOf(
  call: OpCall,
  framework: string,
): { readonly bytesRead: number; readonly bytesWritten: number } {
  const { bytesRead, bytesWritten } = opCost(call, framework);
  return { bytesRead, bytesWritten };
}
