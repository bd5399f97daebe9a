import { currentBackend, type KernelInputs } from "@remat/dispatch-hook";
import { kernelPeakBytes } from "@remat/dispatch-hook/fake";
import type { Recipe, StoredBuffer } from "../executor/stored-data.js";

/** Memory of an op that has to recompute its inputs. @internal */
export interface WorstCase {
  /** Peak memory in bytes while the inputs are recomputed. */
  readonly recomputingBytes: number;
  /** Bytes alive when all inputs are there. */
  readonly readyBytes: number;
  /** How many buffers were looked at. */
  readonly lookedAt: number;
}

/**
 * Returns the most memory that the inputs of an op may need, whatever was evicted before it. On the way to an input,
 * everything that cannot be evicted counts, and every other input of a waiting recipe, since it may be in memory.
 *
 * @param liveBytes bytes alive now
 * @param allBuffers all known buffers
 * @param inputs the known buffers that the op reads
 * @internal
 */
export function worstCaseOf(
  liveBytes: number,
  allBuffers: Iterable<StoredBuffer>,
  inputs: ReadonlySet<StoredBuffer>,
): WorstCase {
  let bytes = liveBytes;
  let lookedAt = 0;
  for (const buffer of allBuffers) {
    lookedAt++;
    if (!buffer.isEvicted && canBeGone(buffer)) bytes -= buffer.bytes;
  }
  const recomputation = new WorstCaseRecomputation(bytes, lookedAt);
  for (const input of inputs) recomputation.claim(input);
  for (const input of inputs) recomputation.recompute(input);
  return recomputation;
}

/** True if the buffer may have been evicted when no op reads it. */
function canBeGone({ isHeld, data }: StoredBuffer): boolean {
  return !isHeld && data.length > 0 && data.every(({ maker }) => maker !== undefined);
}

/** A recipe whose sources are being recomputed. */
interface Waiting {
  readonly buffer: StoredBuffer;
  readonly recipe: Recipe;
  /** How many of its sources are in memory by now. */
  ready: number;
}

/** Recomputes buffers as `recompute` does, each once, but only counts their bytes. */
class WorstCaseRecomputation implements WorstCase {
  recomputingBytes: number;
  readyBytes: number;
  lookedAt: number;
  /** How many recipes wait for a buffer or have yet to read it. It counts as in memory until then. */
  private readonly claims = new Map<StoredBuffer, number>();
  private readonly done = new Set<StoredBuffer>();

  constructor(heldBytes: number, lookedAt: number) {
    this.recomputingBytes = this.readyBytes = heldBytes;
    this.lookedAt = lookedAt;
  }

  claim(buffer: StoredBuffer): void {
    if (!canBeGone(buffer)) return;
    const before = this.claims.get(buffer) ?? 0;
    this.claims.set(buffer, before + 1);
    if (before === 0) this.readyBytes += buffer.bytes;
  }

  private unclaim(buffer: StoredBuffer): void {
    if (!canBeGone(buffer)) return;
    const left = (this.claims.get(buffer) ?? 0) - 1;
    this.claims.set(buffer, left);
    if (left === 0) this.readyBytes -= buffer.bytes;
  }

  /** Recomputes a claimed buffer, and first its sources. */
  recompute(wanted: StoredBuffer): void {
    const way: Waiting[] = [];
    this.begin(wanted, way);
    for (let top = way.at(-1); top !== undefined; top = way.at(-1)) {
      const { recipe } = top;
      const source = recipe.sources[top.ready++];
      if (source !== undefined) this.begin(source.buffer, way);
      else {
        way.pop();
        this.run(top);
      }
    }
  }

  private begin(buffer: StoredBuffer, way: Waiting[]): void {
    if (!canBeGone(buffer) || this.done.has(buffer)) return;
    this.done.add(buffer);
    this.lookedAt++;
    const recipe = buffer.data[0].maker as Recipe;
    // It is not there until its recipe has run.
    this.readyBytes -= buffer.bytes;
    for (const { buffer: source } of recipe.sources) this.claim(source);
    way.push({ buffer, recipe, ready: 0 });
  }

  private run({ buffer, recipe }: Waiting): void {
    this.recomputingBytes = Math.max(this.recomputingBytes, this.readyBytes + bytesOfRecipe(recipe, buffer));
    this.readyBytes += buffer.bytes;
    for (const { buffer: source } of recipe.sources) this.unclaim(source);
  }
}

/** Bytes that a replay allocates: its outputs, and scratch memory meanwhile. */
function bytesOfRecipe({ kernel, inputs, attributes, outputs }: Recipe, wanted: StoredBuffer): number {
  const made = new Set([wanted]);
  for (const data of outputs) if (data !== undefined && canBeGone(data.buffer)) made.add(data.buffer);
  let bytes = 0;
  for (const buffer of made) bytes += buffer.bytes;
  if (kernel === "") return bytes;
  return Math.max(bytes, kernelPeakBytes(currentBackend(), kernel, inputs as KernelInputs, attributes) ?? 0);
}
