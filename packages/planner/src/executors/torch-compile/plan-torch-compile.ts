import { type Budget, bytesOfBudget } from "@remat/memory";
import { type CompiledRecord, type CompiledStepMemory, holdCompiledStep } from "@remat/memory/graph";
import { rooflineMs } from "@remat/runtime-estimator";
import { type DeviceSpec, RematError } from "@remat/trace";
import { type CompiledNode, fusedKernels } from "./fused-kernels.js";

/** The graphs that a model is compiled into for one value of `activation_memory_budget`. */
export interface CompiledPartition {
  /** The value of `activation_memory_budget`, from 0 to 1. Undefined if unknown. */
  readonly budget: number | undefined;
  readonly graphs: readonly {
    readonly forward: readonly CompiledNode[];
    readonly backward: readonly CompiledNode[] | undefined;
  }[];
}

/** A model that was partitioned for several budgets. */
export interface CompiledModel {
  readonly name: string;
  readonly storages: CompiledRecord["storages"];
  readonly results?: CompiledRecord["results"];
  readonly added?: CompiledRecord["added"];
  readonly partitions: readonly CompiledPartition[];
}

/** Memory and time of a step of a compiled model under a budget for activations. */
export interface CompiledBudget extends CompiledStepMemory {
  readonly activationMemoryBudget: number;
  readonly stepMs: number;
  /** Added time as a fraction of the baseline's time ({@link TorchCompileAnswer.stock}). */
  readonly overhead: number;
}

/** Options for {@link planTorchCompile}. */
export interface TorchCompileOptions {
  /** The memory budget of the step. A fraction refers to the peak at the largest budget for activations. */
  readonly budget?: Budget | undefined;
  /** Limit on the overhead of the result. Without a budget, the result has the least memory within this limit. */
  readonly maxOverhead?: number | undefined;
}

/** The result of planning a compiled model. */
export interface TorchCompileAnswer {
  /**
   * The fastest recorded budget for activations within the memory budget and the overhead, or undefined if there is
   * none.
   */
  readonly found: CompiledBudget | undefined;
  /** The baseline: the largest recorded budget for activations. If it is 1, this is torch.compile's default. */
  readonly stock: CompiledBudget;
  readonly least: CompiledBudget;
  readonly budgetBytes: number | undefined;
  /** All recorded budgets for activations, in decreasing order. */
  readonly points: readonly CompiledBudget[];
  /** The budgets for which no other budget is better in both memory and time, by decreasing peak. */
  readonly tradeOffs: readonly CompiledBudget[];
}

/**
 * Plans a compiled model: chooses the value of `torch._functorch.config.activation_memory_budget`. The partitioner uses
 * this value to decide what to save for the backward pass. No other setting is chosen. The memory of the step under
 * each recorded value follows from its graphs. Its time follows from the roofline model of a device.
 *
 * @throws RematError `COMPILED_BUDGETS` if fewer than two budgets were recorded, `COMPILED_BACKWARD` if there is no
 * backward graph, and `GRAPH_NODE` or `GRAPH_STORAGE` for damaged graphs
 * @example
 * const { found } = planTorchCompile(readFxGraphs(file), deviceSpec("a100"), { budget: { fraction: 0.7 } });
 * found?.activationMemoryBudget; // 0.5
 */
export function planTorchCompile(
  model: CompiledModel,
  device: DeviceSpec,
  { budget, maxOverhead }: TorchCompileOptions = {},
): TorchCompileAnswer {
  const points = recordedBudgets(model, device);
  const [stock] = points;
  const budgetBytes = budget === undefined ? undefined : bytesOfBudget(budget, stock.peakBytes);
  const byTime = points.toSorted((a, b) => a.stepMs - b.stepMs || a.peakBytes - b.peakBytes);
  const byPeak = points.toSorted((a, b) => a.peakBytes - b.peakBytes || a.stepMs - b.stepMs);
  const isQuick = ({ overhead }: CompiledBudget): boolean => maxOverhead === undefined || overhead <= maxOverhead;
  const best = budgetBytes === undefined ? byPeak.find(isQuick) : byTime.find((one) => one.peakBytes <= budgetBytes);
  return {
    found: best !== undefined && isQuick(best) ? best : undefined,
    stock,
    least: byPeak[0],
    budgetBytes,
    points,
    tradeOffs: byTime.filter((one, i) => byTime.slice(0, i).every(({ peakBytes }) => peakBytes > one.peakBytes)),
  };
}

function recordedBudgets(
  { name, storages, results, added, partitions }: CompiledModel,
  device: DeviceSpec,
): CompiledBudget[] {
  const told = partitions.flatMap(({ budget, graphs }) => (budget === undefined ? [] : [{ budget, graphs }]));
  if (told.length < 2)
    throw new RematError(
      "COMPILED_BUDGETS",
      `${name}: the file has graphs for ${told.length === 1 ? `only one activation_memory_budget, ${told[0].budget}` : "an unknown activation_memory_budget"}. Write several in Python: remat.export_graphs(..., budgets=(0.9, 0.7, 0.5, 0.3, 0.1)).`,
    );
  if (!told[0].graphs.some(({ backward }) => backward !== undefined))
    throw new RematError(
      "COMPILED_BACKWARD",
      `${name}: the file has no backward graph, so no tensors are saved. Export the model in training, with weights that require gradients.`,
    );
  const measured = told.map(({ budget, graphs }) => ({
    ...holdCompiledStep({ storages, graphs, results, added }),
    activationMemoryBudget: budget,
    stepMs: stepMs(storages, graphs, device),
  }));
  const [stock] = measured;
  return measured.map((one) => ({ ...one, overhead: stock.stepMs > 0 ? one.stepMs / stock.stepMs - 1 : 0 }));
}

function stepMs(storages: CompiledModel["storages"], graphs: CompiledPartition["graphs"], device: DeviceSpec): number {
  let sumMs = 0;
  for (const { forward, backward = [] } of graphs)
    for (const nodes of [forward, backward])
      for (const cost of fusedKernels(nodes, storages)) sumMs += rooflineMs(cost, device);
  return sumMs;
}
