import type { Golden } from "@remat/testkit";
import type { ShardingPlan } from "../src/fsdp/index.js";

/** The plan that a `fsdp-oracle/1` golden was recorded with: its config, and which modules its tree marks as sharded. */
export function planOfGolden(golden: Golden): ShardingPlan {
  const { config, module_tree: tree } = golden;
  const wrap = (tree as { fqn: string; fsdp: boolean }[]).filter((m) => m.fsdp && m.fqn !== "").map((m) => m.fqn);
  return {
    worldSize: config.world_size,
    wrap,
    reshardAfterForward: config.reshard_after_forward ?? undefined,
    cpuOffload: config.cpu_offload,
    ...(config.mixed_precision !== null && {
      mixedPrecision: {
        param: "bfloat16",
        reduce: "float32",
        // `Transformer.forward` ends with `self.output(h).float()`, no op in the float32 run that the simulation starts from.
        ...(config.model === "tf" && { explicitCasts: [{ after: "output", dtype: "float32" }] }),
      },
    }),
  };
}

/** The golden of the same model, batch and checkpointing on one device. */
export function unshardedNameOf(golden: Golden): string {
  const { model, activation_checkpointing: checkpointed } = golden["config"];
  return `mem_${model === "tf" ? "tf_b2" : model}${checkpointed ? "_ac" : ""}_adam`;
}
