import { OpFlag } from "@remat/trace";
import { flagsByName } from "./aten-names.js";

/** The facts that PyTorch declares about an overload, as the exporter stores them. */
export interface AtenSchema {
  /** The arguments that the op writes into, by position or by keyword name. */
  readonly writes?: readonly (number | string)[];
  /** The arguments that a result may share memory with, and that the op does not write into. */
  readonly aliases?: readonly (number | string)[];
  /** Names of `torch.Tag`. */
  readonly tags?: readonly string[];
  /** True if the op does more than compute and write into its arguments: it communicates, or returns nothing. */
  readonly effects?: boolean | number;
}

/**
 * Ops that PyTorch's selective activation checkpointing leaves out.
 *
 * Source: `OPS_TO_ALWAYS_SKIP` of `torch/distributed/_tools/sac_estimator.py`.
 */
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
 * Returns the flags of a dispatched PyTorch op, as bits of `OpFlag`.
 *
 * @param name the op, such as `aten.addmm.default`
 * @param schema the schema of the overload. Recordings of earlier exporters have no schema. Their flags follow from the
 * name. `schema.isView` is true if all results share memory with inputs that the op does not write into.
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

/**
 * Returns whether the op is flash attention without a `dropout_p` keyword. PyTorch's estimator counts flash attention
 * as random only with this keyword, which is never passed. remat does the same, so that statistics agree.
 */
function drawsNothing(name: string, kwargs: Readonly<Record<string, unknown>>): boolean {
  return name.split(".")[1] === "_scaled_dot_product_flash_attention" && (kwargs["dropout_p"] ?? 0) === 0;
}
