import { fileURLToPath } from "node:url";
import { readPyTorchTrace } from "@remat/pytorch";
import { type Golden, goldenFiles, goldensFolder, readGolden } from "@remat/testkit";
import type { Trace } from "@remat/trace";
import { type FsdpSimulation, type ShardingPlan, simulateFsdp } from "../src/fsdp/index.js";
import { upstream } from "./compare-golden.js";

type Bytes = Readonly<Record<string, number>>;

/** The plan that a `fsdp-oracle/1` golden was recorded with: its config, and which modules its tree marks as sharded. */
export function planOfGolden(golden: Golden): ShardingPlan {
  const { config, module_tree: tree } = golden;
  const wrap = (tree as { fqn: string; fsdp: boolean }[]).filter((m) => m.fsdp && m.fqn !== "").map((m) => m.fqn);
  return {
    worldSize: config.world_size,
    wrap,
    ...(config.reshard_after_forward !== null && { reshardAfterForward: config.reshard_after_forward }),
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

const ownFolder = fileURLToPath(new URL("../../../tooling/testkit/goldens", import.meta.url));

/** The run of the same model, batch and checkpointing on one device. */
export function unshardedTrace(golden: Golden): Trace {
  const { model, activation_checkpointing: checkpointed } = golden["config"];
  const name = `mem_${model === "tf" ? "tf_b2" : model}${checkpointed ? "_ac" : ""}_adam`;
  const file = [...goldenFiles(goldensFolder), ...goldenFiles(ownFolder)].find((f) => f.name === name);
  if (file === undefined) throw new Error(`no golden ${name} in ${goldensFolder}`);
  return readPyTorchTrace(readGolden(file));
}

export function simulateGolden(golden: Golden): FsdpSimulation {
  return simulateFsdp(unshardedTrace(golden), planOfGolden(golden));
}

/** Whether a sharding plan can say what a golden was recorded with: those that turn more of FSDP2's knobs (`config.knobs`) are only read. */
export function isSimulated(golden: Golden): boolean {
  return golden["config"].knobs === undefined;
}

/**
 * Predicts the peak of a `fsdp-oracle/1` golden from the unsharded run of its model and returns where it is out of bounds: the total by 1 %,
 * a category by 2 % of the total.
 */
export function compareFsdpSimulation(golden: Golden): string[] {
  if (!isSimulated(golden)) return [];
  const ours = upstream(simulateGolden(golden).tracker.snapshot("peak"), true) as Record<string, Bytes>;
  const differences: string[] = [];
  for (const [device, theirs] of Object.entries(golden["results"].peak as Record<string, Bytes>))
    for (const [category, bytes] of Object.entries(theirs)) {
      const predicted = ours[device]?.[category] ?? 0;
      const bound = theirs["Total"] * (category === "Total" ? 0.01 : 0.02);
      if (Math.abs(predicted - bytes) > bound)
        differences.push(`simulated peak, ${device} ${category}: found ${predicted}, expected ${bytes}`);
    }
  return differences;
}
