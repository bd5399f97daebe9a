import type { CostOptions, OpCall } from "../op-call.js";
import {
  attention,
  attentionBackward,
  efficientBackward,
  efficientForward,
  flashBackward,
  flashForward,
} from "./attention-flops.js";
import { CallArguments, type FlopFormula } from "./call-arguments.js";
import { convolution, convolutionBackward, plainConvolution } from "./convolution-flops.js";
import { atenPacket } from "./free-packets.js";
import { matmul } from "./matmul-flops.js";
import { unregistered } from "./unregistered-flops.js";

/** The packets of PyTorch's registry. */
const registered: ReadonlyMap<string, FlopFormula> = new Map(
  Object.entries<FlopFormula>({
    mm: matmul(0, "self", "mat2"),
    bmm: matmul(0, "self", "mat2"),
    _scaled_mm: matmul(0, "self", "mat2"),
    addmm: matmul(1, "mat1", "mat2"),
    baddbmm: matmul(1, "batch1", "batch2"),
    convolution,
    _convolution: convolution,
    convolution_overrideable: convolution,
    convolution_backward: convolutionBackward,
    cudnn_convolution: plainConvolution,
    _slow_conv2d_forward: plainConvolution,
    _scaled_dot_product_efficient_attention: attention,
    _scaled_dot_product_flash_attention: attention,
    _scaled_dot_product_cudnn_attention: attention,
    _scaled_dot_product_efficient_attention_backward: attentionBackward,
    _scaled_dot_product_flash_attention_backward: attentionBackward,
    _scaled_dot_product_cudnn_attention_backward: attentionBackward,
    _flash_attention_forward: flashForward,
    _flash_attention_backward: flashBackward,
    _efficient_attention_forward: efficientForward,
    _efficient_attention_backward: efficientBackward,
  }),
);

/**
 * Returns the FLOPs of a dispatched ATen op: those of matrix products, convolutions, attention and fused recurrent
 * layers. Every other op has 0 FLOPs, and the roofline model estimates it by its bytes. Ops in PyTorch's FLOP registry
 * count as there (torch/utils/flop_counter.py, 2.13). With `asPytorch`, only these ops have FLOPs.
 */
export function atenFlops(call: OpCall, { asPytorch = false }: CostOptions = {}): number {
  const packet = atenPacket(call.name) ?? "";
  const formula = registered.get(packet) ?? (asPytorch ? undefined : unregistered.get(packet));
  return formula === undefined ? 0 : formula(new CallArguments(call));
}
