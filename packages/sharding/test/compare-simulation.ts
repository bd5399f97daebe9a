import { fileURLToPath } from "node:url";
import { readPyTorchTrace } from "@remat/pytorch";
import { type Golden, goldenFiles, goldensFolder, readGolden } from "@remat/testkit";
import type { Trace } from "@remat/trace";
import { type FsdpSimulation, type MixedPrecision, type ShardingPlan, simulateFsdp } from "../src/index.js";
import { upstream } from "./compare-golden.js";

type Bytes = Readonly<Record<string, number>>;

/** The plan that a `fsdp-oracle/1` golden was recorded with: its config, and which modules its tree marks as sharded; or its knobs. */
export function planOfGolden(golden: Golden): ShardingPlan {
  const { config, module_tree: tree } = golden;
  if (config.knobs !== undefined) return planOfKnobs(config.knobs, config.model);
  const wrap = (tree as { fqn: string; fsdp: boolean }[]).filter((m) => m.fsdp && m.fqn !== "").map((m) => m.fqn);
  return {
    worldSize: config.world_size,
    wrap,
    ...(config.reshard_after_forward !== null && { reshardAfterForward: config.reshard_after_forward }),
    cpuOffload: config.cpu_offload,
    ...(config.mixed_precision !== null && {
      mixedPrecision: { param: "bfloat16", reduce: "float32", ...castsOf(config.model) },
    }),
  };
}

/** `Transformer.forward` ends with `self.output(h).float()`, no op in the float32 run that the simulation starts from. */
function castsOf(model: string): MixedPrecision {
  return model === "tf" ? { explicitCasts: [{ after: "output", dtype: "float32" }] } : {};
}

interface GroupKnobs {
  readonly modules: readonly string[];
  readonly reshard_after_forward: boolean | number | null;
  readonly param_dtype: string | null;
  readonly reduce_dtype: string | null;
  readonly output_dtype: string | null;
  readonly cpu_offload: boolean;
}

interface Knobs {
  readonly mesh: { readonly shard: number; readonly replicate?: number };
  readonly groups: readonly GroupKnobs[];
  readonly gradient_sync: "every" | "last";
  readonly reshard_after_backward: boolean;
  readonly forward_prefetch: Readonly<Record<string, readonly string[]>>;
  readonly backward_prefetch: Readonly<Record<string, readonly string[]>>;
}

function planOfKnobs(knobs: Knobs, model: string): ShardingPlan {
  const { shard, replicate = 1 } = knobs.mesh;
  return {
    worldSize: shard * replicate,
    replicas: replicate,
    wrap: [],
    groups: knobs.groups.map((group) => ({
      modules: group.modules,
      together: group.modules.length > 1,
      ...(group.reshard_after_forward !== null && { reshardAfterForward: group.reshard_after_forward }),
      ...(group.param_dtype !== null && {
        mixedPrecision: {
          param: group.param_dtype,
          ...(group.reduce_dtype !== null && { reduce: group.reduce_dtype }),
          ...(group.output_dtype !== null && { output: group.output_dtype }),
          ...(group.modules[0] === "" && castsOf(model)),
        },
      }),
    })),
    cpuOffload: knobs.groups.some((group) => group.cpu_offload),
    forwardPrefetch: knobs.forward_prefetch,
    backwardPrefetch: knobs.backward_prefetch,
    reshardAfterBackward: knobs.reshard_after_backward,
    gradientSync: knobs.gradient_sync,
    asTracked: true,
  };
}

const ownFolder = fileURLToPath(new URL("../../../tooling/testkit/goldens", import.meta.url));

/** The run of the same model, batch and checkpointing on one device. */
export function unshardedTrace(golden: Golden): Trace {
  const { model, activation_checkpointing: checkpointed, unsharded } = golden["config"];
  const name = unsharded ?? `mem_${model === "tf" ? "tf_b2" : model}${checkpointed ? "_ac" : ""}_adam`;
  const file = [...goldenFiles(goldensFolder), ...goldenFiles(ownFolder)].find((f) => f.name === name);
  if (file === undefined) throw new Error(`no golden ${name} in ${goldensFolder}`);
  return readPyTorchTrace(readGolden(file));
}

export function simulateGolden(golden: Golden): FsdpSimulation {
  return simulateFsdp(unshardedTrace(golden), planOfGolden(golden));
}

/**
 * Allowed difference in bytes between a simulated peak and that of a golden, in total and in each category. The
 * programs with one changed setting each freed their loss before the optimizer's update, and the run on one device
 * freed it after: one allocation of 512 bytes. All others are exact.
 */
export function simulationBound(golden: Golden): number {
  return golden["config"].knobs === undefined ? 0 : 512;
}

/** Predicts the peak of a `fsdp-oracle/1` golden from the unsharded run of its model and returns where it differs by more than the bound. */
export function compareFsdpSimulation(golden: Golden): string[] {
  const ours = upstream(simulateGolden(golden).tracker.snapshot("peak"), true) as Record<string, Bytes>;
  const differences: string[] = [];
  for (const [device, theirs] of Object.entries(golden["results"].peak as Record<string, Bytes>))
    for (const [category, bytes] of Object.entries(theirs)) {
      const predicted = ours[device]?.[category] ?? 0;
      if (Math.abs(predicted - bytes) > simulationBound(golden))
        differences.push(`simulated peak, ${device} ${category}: found ${predicted}, expected ${bytes}`);
    }
  return differences;
}
