/**
 * Returns the packet of an ATen op: its name without namespace and overload. Returns the name of a TensorFlow.js kernel
 * unchanged.
 *
 * @example
 * packetOf("aten.native_layer_norm.default"); // "native_layer_norm"
 */
export function packetOf(name: string): string {
  return name.split(".")[1] ?? name;
}

/** Packets of matrix products without batch dimensions. */
export const unbatchedProducts: readonly string[] = ["mm", "addmm", "linear", "mv", "addmv"];

/** Packets of attention on CUDA. PyTorch chooses one by dtype, mask and heads. */
export const cudaAttention: readonly string[] = ["flash", "efficient", "cudnn"].map(
  (kernel) => `_scaled_dot_product_${kernel}_attention`,
);

/** Packet of attention on a CPU. */
const cpuAttention = "_scaled_dot_product_flash_attention_for_cpu";

/** Packets that JAX's policies call `dots`: matrix products, convolutions and attention. */
export const dotProducts: readonly string[] = [
  ...unbatchedProducts,
  "bmm",
  "baddbmm",
  "matmul",
  "einsum",
  "convolution",
  ...cudaAttention,
  cpuAttention,
];

/** Packets of activation functions. In-place variants end in `_`. */
export const activationPackets: readonly string[] = [
  ...["relu", "relu6", "elu", "selu", "leaky_relu", "gelu", "silu", "sigmoid", "hardsigmoid", "hardswish", "hardtanh"],
  ...["tanh", "mish", "softplus", "_softmax", "_log_softmax", "log_sigmoid_forward"],
];

/**
 * Returns whether an op is attention on a CPU, by its packet or by its name, with or without overload.
 *
 * @example
 * isCpuAttention("aten._scaled_dot_product_flash_attention_for_cpu.default"); // true
 */
export function isCpuAttention(op: string): boolean {
  return (op.startsWith("aten.") ? packetOf(op) : op.split(".", 1)[0]) === cpuAttention;
}

/**
 * Returns the name of an op and, for attention, also its names on CUDA. Which kernel runs depends on the device and the
 * dtype.
 *
 * @example
 * attentionNames("aten.mm.default"); // ["aten.mm.default"]
 */
export function attentionNames(name: string): readonly string[] {
  const packet = packetOf(name);
  if (!name.startsWith(`aten.${packet}.`) || ![...cudaAttention, cpuAttention].includes(packet)) return [name];
  return [name, ...cudaAttention.map((kernel) => name.replace(packet, kernel))];
}

/**
 * Results that stay in float32 if the inputs have a lower dtype, such as statistics: indices of the results by packet.
 * Source: ATen's CUDA kernels.
 */
export const float32Results: Readonly<Record<string, readonly number[] | undefined>> = {
  native_layer_norm: [1, 2],
  native_group_norm: [1, 2],
  native_batch_norm: [1, 2],
  cudnn_batch_norm: [1, 2],
  _fused_rms_norm: [1],
  ...Object.fromEntries(cudaAttention.map((packet) => [packet, [1]])),
};

/**
 * Returns whether an op's results have the dtype of its first tensor, even if statistics or weights are wider. This
 * holds for normalization, and for ops that compute a gradient from the gradient of a result.
 *
 * @param name packet, or name with overload
 * @example
 * hasDtypeOfFirst("aten.native_layer_norm.default"); // true
 */
export function hasDtypeOfFirst(name: string): boolean {
  return /batch_norm|layer_norm|group_norm|rms_norm|_backward/.test(name);
}

/**
 * Returns whether PyTorch runs a packet only if all its tensors have the same dtype.
 *
 * @example
 * takesOneDtype("mm"); // true
 */
export function takesOneDtype(packet: string): boolean {
  return /^(mm|addmm|bmm|baddbmm|mv|addmv|dot|vdot|addr|convolution|_convolution|linear|_scaled_dot_product_\w+)$/.test(
    packet,
  );
}

/**
 * Returns whether an op adds two tensors into a new one, as autograd does with gradients.
 *
 * @example
 * addsTensors("aten.add.Tensor"); // true
 */
export function addsTensors(name: string): boolean {
  return name.startsWith("aten.add.Tensor");
}

/**
 * Returns whether an op adds in place, as autograd does with gradients that have no other reader.
 *
 * @example
 * addsInPlace("aten.add_.Tensor"); // true
 */
export function addsInPlace(name: string): boolean {
  return name.startsWith("aten.add_.");
}

/**
 * Returns whether a packet adds tensors, in place or not.
 *
 * @example
 * isSum("add_"); // true
 */
export function isSum(packet: string): boolean {
  return /^add_?$/.test(packet);
}

/**
 * Packets of softmax and their gradients: in attention written as single ops, in the loss, and in attention that
 * PyTorch composes of matrix products.
 */
export const softmaxPackets: {
  readonly attention: string;
  readonly loss: string;
  readonly unfusedAttention: string;
  readonly gradient: RegExp;
} = {
  attention: "_softmax",
  loss: "_log_softmax",
  unfusedAttention: "_safe_softmax",
  gradient: /softmax_backward/,
};

/** Packets in code that normalizes by the root of the mean square: `x * rsqrt(mean(x²) + ε)`. */
export const rmsNormPackets: Readonly<Record<"square" | "mean" | "sum" | "root" | "product", RegExp>> = {
  square: /^(pow|mul|square)$/,
  mean: /^mean$/,
  sum: /^add$/,
  root: /^rsqrt$/,
  product: /^mul_?$/,
};
