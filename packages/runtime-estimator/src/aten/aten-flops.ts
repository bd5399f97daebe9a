import type { OpCall } from "../op-call.js";
import {
  attention,
  attentionBackward,
  efficientBackward,
  efficientForward,
  flashBackward,
  flashForward,
} from "./attention-flops.js";
import { CallArguments } from "./call-arguments.js";
import { convolution, convolutionBackward, plainConvolution } from "./convolution-flops.js";
import { atenPacket } from "./free-packets.js";

type Formula = (a: CallArguments) => number;

/** [m, k] · [k, n], or batched: two FLOPs for each element of the left side and column of the right. */
const matmul =
  (first: number, left: string, right: string): Formula =>
  (a) => {
    let flops = 2 * (a.shape(first + 1, right).at(-1) ?? 0);
    for (const size of a.shape(first, left)) flops *= size;
    return flops;
  };

const formulas: ReadonlyMap<string, Formula> = new Map(
  Object.entries<Formula>({
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
 * Returns the FLOPs of a dispatched ATen op as PyTorch's FLOP registry counts them (torch/utils/flop_counter.py, 2.13):
 * matrix products, convolutions and attention. Every other op has 0 FLOPs, and the roofline model estimates it by its
 * bytes.
 */
export function atenFlops(call: OpCall): number {
  const formula = formulas.get(atenPacket(call.name) ?? "");
  return formula === undefined ? 0 : formula(new CallArguments(call));
}
