import type { OpDone } from "@remat/dispatch-hook";
import { recomputeOps, tellModes } from "@remat/dispatch-hook/residency";
import { Phase } from "@remat/trace";
import { type Tensor, util } from "@tensorflow/tfjs-core";
import type { Policy } from "../executor/executor.js";
import type { Ledger } from "../executor/ledger.js";
import type { Recipe, StoredBuffer } from "../executor/stored-data.js";
import { type Block, type BlockRecipe, recomputationOf } from "./block.js";
import { namesOf, type SavePolicy } from "./save-policies.js";

/**
 * Evicts the data of checkpointed blocks when they end, except for their results and the data that their policy saves.
 * The first read in the backward pass recomputes everything that is still needed. Ops outside of blocks are not
 * affected.
 *
 * @internal
 */
export class Blocks implements Policy {
  private ledger: Ledger | undefined;
  private readonly running: Block[] = [];
  private readonly blockOf = new Map<StoredBuffer, Block>();
  private readonly makers = new Map<Recipe, BlockRecipe>();
  private phase: number = Phase.forward;
  private isRecomputing = false;

  /** True if blocks can be checkpointed now. This requires a forward pass inside a gradient computation. */
  get isActive(): boolean {
    return this.ledger !== undefined && this.phase === Phase.forward;
  }

  enter(name: string, policy: SavePolicy, inputs: readonly Tensor[]): Block {
    const block: Block = { name, inputs, policy, recipes: [], ops: [], isOver: false };
    this.running.push(block);
    tellModes("blockEntered", block);
    return block;
  }

  /**
   * Ends `block`. `results` are its outputs, or undefined if it failed. Nested blocks that are still open end as well.
   */
  exit(block: Block, results: readonly Tensor[] | undefined): void {
    const at = this.running.indexOf(block);
    if (at < 0) return;
    for (const left of this.running.splice(at).reverse()) {
      left.isOver = true;
      if (left === block && results !== undefined) this.evict(block, results);
      tellModes("blockExited", left, left === block ? (results ?? []) : []);
    }
  }

  /** Evicts the block's data, except for its results and saved data. */
  private evict(block: Block, results: readonly Tensor[]): void {
    const { ledger } = this;
    if (ledger === undefined) return;
    const handedOut = new Set(results.map(({ dataId }) => ledger.get(dataId)?.buffer));
    const own = new Set<Recipe | undefined>(block.recipes.map(({ recipe }) => recipe));
    for (const made of block.recipes)
      for (const data of made.recipe.outputs) {
        if (data === undefined) continue;
        const { buffer } = data;
        // A view of outside data, such as the block's input. Its owner decides about eviction.
        if (!own.has(buffer.data[0]?.maker)) continue;
        if (handedOut.has(buffer)) this.running.at(-1)?.recipes.push(made);
        else if (buffer.isEvictable && !this.isSaved(block, buffer)) ledger.evict(buffer);
      }
  }

  passStarting(ledger: Ledger): void {
    this.ledger = ledger;
    this.phase = Phase.forward;
  }

  passOver(): void {
    this.ledger = undefined;
    this.running.length = 0;
    this.blockOf.clear();
    this.makers.clear();
  }

  phaseChanged(phase: number): void {
    this.phase = phase;
  }

  /** Outside of blocks only views of block data matter, since they are evicted and refreshed with it. */
  isNoted({ outputs }: OpDone): boolean {
    const { ledger, running } = this;
    if (ledger === undefined) return false;
    if (running.length > 0) return true;
    return ledger.hasBufferOf(outputs);
  }

  opOver({ sequence, kernel, attributes, outputs }: OpDone, recipe: Recipe | undefined): void {
    const block = this.running.at(-1);
    for (const { ops } of this.running) ops.push(sequence);
    if (recipe === undefined || block === undefined) return;
    const made: BlockRecipe = {
      recipe,
      order: this.makers.size,
      kernel,
      attributes,
      outputs: outputs.map(({ shape, dtype, size }) => ({ shape, dtype, bytes: size * util.bytesPerElement(dtype) })),
    };
    this.makers.set(recipe, made);
    block.recipes.push(made);
    for (const data of recipe.outputs)
      if (data !== undefined && !this.blockOf.has(data.buffer)) this.blockOf.set(data.buffer, block);
  }

  bufferUnused(buffer: StoredBuffer): void {
    const block = this.blockOf.get(buffer);
    if (block !== undefined && buffer.isEvictable && !this.isSaved(block, buffer)) this.ledger?.evict(buffer);
  }

  replaying(): void {}

  /**
   * In the backward pass the whole block is recomputed at once. Before that, only the data that is read is recomputed.
   */
  recomputing(buffer: StoredBuffer): boolean {
    const { ledger, phase } = this;
    const block = this.blockOf.get(buffer);
    if (ledger === undefined || block?.isOver !== true || phase === Phase.forward || this.isRecomputing) return false;
    this.isRecomputing = true;
    try {
      recomputeOps(block.ops, () => this.recompute(block, buffer, ledger), block);
    } finally {
      this.isRecomputing = false;
    }
    return !buffer.isEvicted;
  }

  private recompute(block: Block, touched: StoredBuffer, ledger: Ledger): void {
    const makerOf = ({ data }: StoredBuffer) => data[0]?.maker && this.makers.get(data[0].maker);
    for (const { run, evicted } of recomputationOf(block, touched, makerOf)) {
      for (const { buffer: source } of run.recipe.sources) if (source.isEvicted) ledger.recompute(source);
      ledger.replay(run.recipe);
      for (const helper of evicted) if (helper.isEvictable && !helper.isUsed) ledger.evict(helper);
    }
  }

  private isSaved({ policy }: Block, buffer: StoredBuffer): boolean {
    for (const { maker, dataId } of buffer.data) {
      const made = maker && this.makers.get(maker);
      if (made === undefined) continue;
      const { kernel, attributes, outputs } = made;
      if (policy({ kernel, attributes, outputs, names: namesOf(dataId) })) return true;
    }
    return false;
  }
}
