import type { Tensor } from "@tensorflow/tfjs-core";
import type { EngineInternals, EngineTapeNode } from "../engine-internals.js";
import { AskableTensors } from "./askable-tensors.js";
import { earlyFrees } from "./early-frees.js";
import { readersOf } from "./readers-of.js";
import { releaseData } from "./release-data.js";

/** A saved tensor that is read only by a gradient that the pass does not compute, but that an inner pass might. */
interface Withheld {
  readonly saved: Tensor;
  /** The inputs whose gradients read it. */
  readonly forInputs: readonly Tensor[];
}

/**
 * Frees tensors saved on the tape of a pass that no backward pass will read: those of nodes that depend on no x, those
 * of which a gradient function reads only the shape, and those for the gradient of an input that depends on no x.
 *
 * An inner pass of a higher-order gradient differentiates the existing tape, and may compute gradients that the outer
 * one does not. Such a pass can only use xs that the program still references. A tensor that it could read therefore
 * stays while a tensor that leads to that input is alive, at most until the end of the forward pass. An inner pass
 * itself saves tensors like unmodified TensorFlow.js.
 *
 * @internal
 */
export class PrunedTape {
  private readonly engine: EngineInternals;
  /** Ids of tensors that depend on an x. */
  private readonly followers: Set<number>;
  private readonly askable = new AskableTensors();
  /**
   * Withheld tensors by the scope that disposes of the tensor they depend on. Others stay until the end of the forward
   * pass.
   */
  private readonly withheld = new Map<number | undefined, Withheld[]>();

  constructor(engine: EngineInternals, xs: readonly Tensor[]) {
    this.engine = engine;
    this.followers = new Set(xs.map(({ id }) => id));
  }

  /** Handles a node that was added to the tape. */
  add(node: EngineTapeNode): void {
    const { kernelName, inputs, outputs, saved = [] } = node;
    this.askable.add(node);
    const wanted = Object.keys(inputs).filter((name) => inputs[name] != null && this.followers.has(inputs[name].id));
    if (wanted.length > 0) for (const { id } of outputs) this.followers.add(id);
    if (this.engine.state.gradientDepth > 1) return;
    saved.forEach((tensor, i) => {
      const readers = readersOf(kernelName, i) ?? Object.keys(inputs);
      if (readers.some((name) => wanted.includes(name))) return;
      const forInputs = readers.map((name) => inputs[name]).filter((input) => input != null);
      this.withhold({ saved: tensor, forInputs });
    });
  }

  /** Tensors in the scope with this id were disposed of or have moved. */
  scopeEnded(id: number): void {
    const entries = this.withheld.get(id);
    if (entries === undefined) return;
    this.withheld.delete(id);
    for (const entry of entries) this.withhold(entry, id);
  }

  /** From here on only the pass itself differentiates this tape. */
  forwardEnded(): void {
    for (const entries of this.withheld.values()) for (const { saved } of entries) this.release(saved);
    this.withheld.clear();
  }

  private withhold(entry: Withheld, endedScope?: number): void {
    const witness = this.askable.livingSourceOf(entry.forInputs);
    if (witness === undefined) return this.release(entry.saved);
    const { scopeId } = witness as Tensor & { scopeId?: number };
    // A kept tensor outlives its scope.
    const scope = scopeId === endedScope ? undefined : scopeId;
    const others = this.withheld.get(scope);
    if (others === undefined) this.withheld.set(scope, [entry]);
    else others.push(entry);
  }

  private release(saved: Tensor): void {
    if (saved.isDisposed) return;
    earlyFrees.areRunning = true;
    releaseData(this.engine, saved);
    earlyFrees.areRunning = false;
  }
}
