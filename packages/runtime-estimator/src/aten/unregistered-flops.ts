import { attention, attentionBackward } from "./attention-flops.js";
import type { FlopFormula } from "./call-arguments.js";
import { broadcastMatmul, groupedMatmul, linear, matmul, timesVector } from "./matmul-flops.js";
import { gpuRecurrence, gpuRecurrenceBackward, oneDnnLayer, oneDnnLayerBackward } from "./recurrent-flops.js";

/**
 * Packets that multiply matrices or vectors and have no formula in PyTorch's FLOP registry (2.13). Attention on a CPU
 * takes its tensors in the same order as attention on a GPU. `linear` and `matmul` are dispatched in inference mode
 * only, and `FlopCounterMode` decomposes them.
 */
export const unregistered: ReadonlyMap<string, FlopFormula> = new Map(
  Object.entries<FlopFormula>({
    _scaled_dot_product_flash_attention_for_cpu: attention,
    _scaled_dot_product_flash_attention_for_cpu_backward: attentionBackward,
    _scaled_dot_product_fused_attention_overrideable: attention,
    _scaled_dot_product_fused_attention_overrideable_backward: attentionBackward,
    mv: timesVector(0, "self"),
    addmv: timesVector(1, "mat"),
    dot: timesVector(0, "self"),
    vdot: timesVector(0, "self"),
    addbmm: matmul(1, "batch1", "batch2"),
    linear,
    matmul: broadcastMatmul,
    _int_mm: matmul(0, "self", "mat2"),
    _addmm_activation: matmul(1, "mat1", "mat2"),
    _grouped_mm: groupedMatmul,
    _scaled_grouped_mm: groupedMatmul,
    mkldnn_rnn_layer: oneDnnLayer,
    mkldnn_rnn_layer_backward: oneDnnLayerBackward,
    _cudnn_rnn: gpuRecurrence,
    _cudnn_rnn_backward: gpuRecurrenceBackward(21),
    miopen_rnn: gpuRecurrence,
    miopen_rnn_backward: gpuRecurrenceBackward(20),
  }),
);
