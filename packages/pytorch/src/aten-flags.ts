import { OpFlag } from "@remat/trace";
import { flagsByName } from "./aten-names.js";

/** What PyTorch says of an overload, as the exporter stores it. */
export interface AtenSchema {
  /** Arguments that it writes into: places, and names of keyword arguments. */
  readonly writes?: readonly (number | string)[];
  /** Arguments that a result may share memory with, and that it does not write into. */
  readonly aliases?: readonly (number | string)[];
  /** Names of `torch.Tag`. */
  readonly tags?: readonly string[];
  /** Whether it does more than compute and write into its arguments: it communicates, or returns nothing. */
  readonly effects?: boolean | number;
}

/** Ops that PyTorch's selective activation checkpointing leaves out: `OPS_TO_ALWAYS_SKIP` of `torch/distributed/_tools/sac_estimator.py`. */
const skippedOps: ReadonlySet<string> = new Set([
  "aten.clone.default",
  "aten.detach.default",
  "aten.dim.default",
  "aten.is_contiguous.default",
  "aten.is_contiguous.memory_format",
  "aten.is_non_overlapping_and_dense.default",
  "aten.is_strides_like_format.default",
  "aten.lift_fresh.default",
  "aten.numel.default",
  "aten.size.default",
  "aten.storage_offset.default",
  "aten.stride.default",
  "aten.sym_numel.default",
  "aten.sym_size.default",
  "aten.sym_storage_offset.default",
  "aten.sym_stride.default",
  "prim.device.default",
  "profiler._record_function_exit._RecordFunction",
]);

/**
 * Returns the bits of `OpFlag` that a dispatched op of PyTorch has. `name` is `aten.addmm.default`.
 *
 * @param schema of the overload; a recording of an earlier exporter has none, and then the name decides. As `isView` it takes whether all results share memory with what the op was given and
 * did not write into.
 */
export function atenFlags(
  name: string,
  kwargs: Readonly<Record<string, unknown>> = {},
  schema?: AtenSchema & { readonly isView: boolean },
): number {
  const skip = skippedOps.has(name) ? OpFlag.sacSkip : 0;
  if (schema === undefined) return skip | flagsByName(name, kwargs);
  const { writes = [], tags = [], effects, isView } = schema;
  let flags = skip;
  if (isView || tags.includes("inplace_view")) flags |= OpFlag.view;
  if (writes.includes(0)) flags |= OpFlag.inPlace;
  if (tags.includes("nondeterministic_seeded") && !drawsNothing(name, kwargs)) flags |= OpFlag.random;
  if (effects) flags |= OpFlag.effectful;
  return flags;
}

/** As in upstream, flash attention is random only if its dropout was passed by keyword, which it never is. PyTorch's statistics, with which ours agree, contain this. */
function drawsNothing(name: string, kwargs: Readonly<Record<string, unknown>>): boolean {
  return name.split(".")[1] === "_scaled_dot_product_flash_attention" && (kwargs["dropout_p"] ?? 0) === 0;
}
