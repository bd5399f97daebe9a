import { OpFlag } from "@remat/trace";

// These names serve recordings made before the exporter stored the schemas of ops. `aten-flags.ts` needs no names.

/**
 * ATen ops whose result is a view, by packet (the name without overload).
 *
 * Source: `is_view_fn` and `is_inplace_view_fn` of PyTorch 2.13.
 */
const viewPackets: ReadonlySet<string> = new Set(
  (
    "as_strided detach diagonal expand expand_as movedim narrow permute select squeeze transpose t real imag view_as_real view_as_complex " +
    "unflatten unfold unsqueeze view view_as unbind split split_with_sizes vsplit hsplit tensor_split chunk swapaxes slice _reshape_alias " +
    "_unsafe_view _conj alias as_strided_ detach_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_"
  ).split(" "),
);

/**
 * Packets that draw from the default generator: those tagged `nondeterministic_seeded` in PyTorch 2.13's
 * `native_functions.yaml`.
 */
const seededPackets: ReadonlySet<string> = new Set(
  (
    "_cudnn_attention_backward _cudnn_attention_forward _cudnn_init_dropout_state _cudnn_rnn _efficient_attention_forward " +
    "_fill_mem_eff_dropout_mask_ _flash_attention_forward _flash_attention_forward_no_dropout_inplace _fused_dropout _fused_sdp_choice " +
    "_lstm_mps _nested_tensor_softmax_with_shape _sample_dirichlet _scaled_dot_product_attention_math " +
    "_scaled_dot_product_attention_math_for_mps _scaled_dot_product_cudnn_attention _scaled_dot_product_cudnn_attention_backward " +
    "_scaled_dot_product_efficient_attention _scaled_dot_product_efficient_attention_backward _scaled_dot_product_flash_attention " +
    "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_fused_attention_overrideable _standard_gamma " +
    "_triton_scaled_dot_attention alpha_dropout alpha_dropout_ bernoulli bernoulli_ binomial cauchy cauchy_ dropout dropout_ exponential " +
    "exponential_ feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ geometric geometric_ gru log_normal " +
    "log_normal_ lstm miopen_rnn multinomial native_dropout normal normal_ normal_functional philox_rand poisson rand rand_like randint " +
    "randint_like randn randn_like random random_ randperm rnn_relu rnn_tanh rrelu rrelu_ rrelu_with_noise rrelu_with_noise_ " +
    "rrelu_with_noise_functional scaled_dot_product_attention uniform uniform_"
  ).split(" "),
);

const effectfulNamespaces: ReadonlySet<string> = new Set(["c10d", "_c10d_functional", "profiler"]);

/**
 * Returns the flags that follow from an op's name alone.
 *
 * The rules are those of PyTorch's estimator, so that statistics agree. An `out=` variant is not in-place. Flash
 * attention is random only if its dropout is passed by keyword, which never happens.
 *
 * @internal
 */
export function flagsByName(name: string, kwargs: Readonly<Record<string, unknown>>): number {
  const [namespace = "", packet = ""] = name.split(".");
  let flags = 0;
  if (viewPackets.has(packet)) flags |= OpFlag.view;
  if (isInPlace(packet)) flags |= OpFlag.inPlace;
  if (packet === "_scaled_dot_product_flash_attention" ? (kwargs["dropout_p"] ?? 0) !== 0 : seededPackets.has(packet))
    flags |= OpFlag.random;
  if (effectfulNamespaces.has(namespace)) flags |= OpFlag.effectful;
  return flags;
}

/**
 * Returns whether an op's name says that it writes into results passed to it: `aten.add_.Tensor`, `aten.div.out`,
 * `aten.topk.values`.
 *
 * @internal
 */
export function writesByName(name: string): boolean {
  return isInPlace(name.split(".")[1] ?? "") || /[._](out|values|values_stable|max|min|grad_input)$/.test(name);
}

function isInPlace(packet: string): boolean {
  if (/^__i.+__/.test(packet)) return true;
  return !/^__.+__/.test(packet) && packet.endsWith("_");
}
