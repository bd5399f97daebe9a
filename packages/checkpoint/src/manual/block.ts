import type { CheckpointedBlock, KernelAttributes } from "@remat/dispatch-hook";
import type { Recipe, StoredBuffer } from "../executor/stored-data.js";
import type { CheckpointedOp, SavePolicy } from "./save-policies.js";

/** A kernel call of a block. @internal */
export interface BlockRecipe {
  readonly recipe: Recipe;
  /** Increases in the order of the forward pass. */
  readonly order: number;
  readonly kernel: string;
  readonly attributes: KernelAttributes | undefined;
  readonly outputs: CheckpointedOp["outputs"];
}

/** One run of a checkpointed block. @internal */
export interface Block extends CheckpointedBlock {
  readonly policy: SavePolicy;
  /** The recipes that ran in the block, in order. For a nested block only those that made its results. */
  readonly recipes: BlockRecipe[];
  /** The `sequence` of each op that ran in the block and in nested blocks. */
  readonly ops: number[];
  isOver: boolean;
}

/**
 * Returns the kernels to recompute, in order, to restore all evicted data of the block that a tensor uses. These are
 * the kernels that made the data, and those that made their inputs. For each it lists the intermediate buffers that can
 * be evicted again afterwards.
 *
 * @internal
 */
export function recomputationOf(
  block: Block,
  touched: StoredBuffer,
  makerOf: (buffer: StoredBuffer) => BlockRecipe | undefined,
): readonly { readonly run: BlockRecipe; readonly evicted: readonly StoredBuffer[] }[] {
  const wanted = [touched];
  for (const { recipe } of block.recipes)
    for (const data of recipe.outputs) if (data !== undefined && data.buffer.isUsed) wanted.push(data.buffer);
  const needed = new Map<BlockRecipe, Set<StoredBuffer>>();
  const lastReader = new Map<StoredBuffer, BlockRecipe>();
  for (let buffer = wanted.pop(); buffer !== undefined; buffer = wanted.pop()) {
    if (!buffer.isEvicted) continue;
    const maker = makerOf(buffer);
    if (maker === undefined || needed.has(maker)) continue;
    const sources = new Set(maker.recipe.sources.map((source) => source.buffer));
    needed.set(maker, sources);
    wanted.push(...sources);
  }
  const inOrder = [...needed.keys()].sort((a, b) => a.order - b.order);
  for (const maker of inOrder)
    for (const source of needed.get(maker) ?? []) if (source.isEvicted && !source.isUsed) lastReader.set(source, maker);
  const evicted = new Map<BlockRecipe, StoredBuffer[]>();
  for (const [buffer, reader] of lastReader) evicted.set(reader, [...(evicted.get(reader) ?? []), buffer]);
  return inOrder.map((run) => ({ run, evicted: evicted.get(run) ?? [] }));
}
