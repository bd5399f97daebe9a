import { atenCost } from "./aten/aten-cost.js";
import { atenPacket } from "./aten/free-packets.js";
import type { CostOptions, OpCall, OpCost } from "./op-call.js";
import { contractionFlops } from "./tfjs/contraction-flops.js";
import { kernelFormulas, tfjsCost } from "./tfjs/tfjs-cost.js";

/**
 * Returns the FLOPs and bytes of one op call. `framework` comes from the trace header. For `pytorch`, it counts like
 * PyTorch's own FLOP registry and roofline model, and has formulas for more ops. For any other framework, it counts
 * TensorFlow.js kernels.
 *
 * @example
 * opCost({ name: "aten.mm.default", inputs: [a, b], outputs: [c] }, "pytorch").flops; // 2 · m · n · k
 */
export function opCost(call: OpCall, framework: string, options: CostOptions = {}): OpCost {
  return framework === "pytorch" ? atenCost(call, options) : tfjsCost(call);
}

/** Returns the FLOPs of one op call. See {@link opCost}. */
export function flopsOf(call: OpCall, framework: string, options: CostOptions = {}): number {
  return opCost(call, framework, options).flops;
}

/**
 * Returns the FLOPs of one op call as PyTorch's `FlopCounterMode` counts them: two for each multiply-add of a matrix
 * product, a convolution or attention, and none for other ops. Undefined for an op without a formula.
 */
export function contractionFlopsOf(call: OpCall, framework: string): number | undefined {
  if (framework !== "pytorch") return kernelFormulas.has(call.name) ? contractionFlops(call) : undefined;
  return atenPacket(call.name) === undefined ? undefined : atenCost(call).flops;
}

/** Returns the bytes that one op call reads and writes. See {@link opCost}. */
export function bytesOf(
  call: OpCall,
  framework: string,
): { readonly bytesRead: number; readonly bytesWritten: number } {
  const { bytesRead, bytesWritten } = opCost(call, framework);
  return { bytesRead, bytesWritten };
}
