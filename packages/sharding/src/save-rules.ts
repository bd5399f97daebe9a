import {
  activationPackets,
  cudaAttention,
  dotProducts,
  isCpuAttention,
  packetOf,
  unbatchedProducts,
} from "@remat/runtime-estimator/aten";
import type { OpIndex, Trace } from "@remat/trace";
import { planError } from "./sharding-plan.js";

/** Matrix products of TensorFlow.js, with and without batch dimensions. */
const matMuls: readonly string[] = ["BatchMatMul", "_FusedMatMul"];
const dots: readonly string[] = [
  ...dotProducts,
  ...matMuls,
  "Einsum",
  "Conv1D",
  "Conv2D",
  "Conv3D",
  "DepthwiseConv2dNative",
  "FusedConv2D",
  "FusedDepthwiseConv2D",
];
const activations: readonly string[] = [
  ...activationPackets,
  ...["Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "Sigmoid", "Tanh", "Softplus", "Softmax", "LogSoftmax"],
];

/**
 * The ops that each named policy saves. The names are those of JAX (`jax.checkpoint_policies`), plus one for Keras's
 * `RematScope(mode="activations")`.
 */
const namedPolicies: Readonly<Record<string, (op: string, rank: number) => boolean>> = {
  everything_saveable: () => true,
  nothing_saveable: () => false,
  dots_saveable: (op) => dots.includes(op),
  checkpoint_dots: (op) => dots.includes(op),
  dots_with_no_batch_dims_saveable: isPlainDot,
  checkpoint_dots_with_no_batch_dims: isPlainDot,
  all_but_activations: (op) => !activations.includes(op) && !activations.includes(op.replace(/_$/, "")),
};

export const policiesByName: readonly string[] = Object.keys(namedPolicies);

/**
 * Returns the name of one of these policies without the module of JAX in front
 * (`jax.checkpoint_policies.dots_saveable`), or undefined for any other text.
 */
export function policyName(text: string): string | undefined {
  const name = text.replace(/^(?:jax\.)?(?:checkpoint_policies|cp)\./, "");
  return Object.hasOwn(namedPolicies, name) ? name : undefined;
}

/** Returns whether a matrix product has no batch dimensions, judged by its name or by the rank of its result. */
function isPlainDot(op: string, rank: number): boolean {
  return unbatchedProducts.includes(op) || (matMuls.includes(op) && rank === 2);
}

/** Returns whether a rule saves the result of an op in a call. */
type SaveRule = (name: string, ordinal: number, rank: number) => boolean;

/**
 * Returns the positions in `ops` of the ops of a call that a list of rules saves.
 *
 * A rule is an op's name (`aten.mm.default`, `aten.mm` or `mm`, in TensorFlow.js `BatchMatMul`), `mm#0` for the first
 * op of that name in a call, `mm%2` for every second one, or the name of a policy of JAX.
 *
 * @param ops the forward ops of a call
 * @throws RematError `SHARDING_PLAN` for a rule that cannot be followed
 */
export function savedPlaces(trace: Trace, ops: readonly OpIndex[], rules: readonly string[]): readonly number[] {
  const saves = rules.map(parseRule);
  const counts = new Map<string, number>();
  return ops.flatMap((op, place) => {
    const name = trace.opName(op);
    const ordinal = counts.get(name) ?? 0;
    counts.set(name, ordinal + 1);
    const [result] = trace.opOutputs(op);
    const rank = result === undefined ? 0 : trace.tensorShape(result).length;
    return saves.some((rule) => rule(name, ordinal, rank)) ? [place] : [];
  });
}

function parseRule(rule: string): SaveRule {
  const policy = policyName(rule);
  if (policy !== undefined) return (name, _, rank) => namedPolicies[policy](packetOf(name), rank);
  if (/offload/.test(rule))
    throw planError(
      `${JSON.stringify(rule)} offloads to the host, which is not supported in simulations. Expected ${expected}.`,
    );
  const [, op, sign, number] = /^([\w.]+)(?:([#%])(\d+))?$/.exec(rule) ?? [];
  if (op === undefined || (sign === "%" && Number(number) === 0))
    throw planError(`cannot save ${JSON.stringify(rule)}. Expected ${expected}.`);
  // Attention is one kernel on a CPU, where rules may have been recorded, and others on CUDA.
  const isAttention = isCpuAttention(op);
  const isMeant = (name: string): boolean =>
    name === op ||
    packetOf(name) === op ||
    name.startsWith(`${op}.`) ||
    (isAttention && cudaAttention.includes(packetOf(name)));
  if (sign === "#") return (name, ordinal) => isMeant(name) && ordinal === Number(number);
  // The first of each pair is saved, as in TorchTitan.
  if (sign === "%") return (name, ordinal) => isMeant(name) && ordinal % Number(number) === 0;
  return isMeant;
}

const expected = `ops by name (mm, aten.mm.default), mm#0 for the first of a call, mm%2 for every second, or ${Object.keys(namedPolicies).join(", ")}`;
