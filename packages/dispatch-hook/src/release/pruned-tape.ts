import type { Tensor } from "@tensorflow/tfjs-core";
import type { EngineInternals, EngineTapeNode } from "../engine-internals.js";
import { AskableTensors } from "./askable-tensors.js";
import { earlyFrees } from "./early-frees.js";
import { readersOf } from "./readers-of.js";
import { releaseData } from "./release-data.js";

/** A saved tensor that only a gradient would read which the pass will not ask for; an inner pass might. */
interface Withheld {
  readonly saved: Tensor;
  /** The inputs whose gradients read it. */
  readonly forInputs: readonly Tensor[];
}

/**
 * Frees what the engine saves on the tape of a pass, as far as no backward pass will read it: where no x leads to a node, what its gradient function
 * wants the shape of, what it saves for the gradient of an input to which no x leads.
 *
 * An inner pass of a higher-order gradient differentiates the tape that there is, and may ask for what the outer one does not. Its xs are tensors that
 * somebody has: so what could be read then stays while a tensor is alive that leads to the input in question, until the forward pass is over.
 * An inner pass itself saves as stock.
 *
 * @internal
 */
export class PrunedTape {
  private readonly engine: EngineInternals;
  /** Ids of tensors to which an x leads. */
  private readonly followers: Set<number>;
  private readonly askable = new AskableTensors();
  /** By the scope that disposes of what keeps them askable; others stay to the end of the forward pass. */
  private readonly withheld = new Map<number | undefined, Withheld[]>();

  constructor(engine: EngineInternals, xs: readonly Tensor[]) {
    this.engine = engine;
    this.followers = new Set(xs.map(({ id }) => id));
  }

  /** `node` was put on the tape. */
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

  /** What lived in the scope of this id is disposed of, or has moved. */
  scopeEnded(id: number): void {
    const entries = this.withheld.get(id);
    if (entries === undefined) return;
    this.withheld.delete(id);
    for (const entry of entries) this.withhold(entry, id);
  }

  /** From here on nobody differentiates this tape but the pass itself. */
  forwardEnded(): void {
    for (const entries of this.withheld.values()) for (const { saved } of entries) this.release(saved);
    this.withheld.clear();
  }

  private withhold(entry: Withheld, endedScope?: number): void {
    const witness = this.askable.livingSourceOf(entry.forInputs);
    if (witness === undefined) return this.release(entry.saved);
    const { scopeId } = witness as Tensor & { scopeId?: number };
    // What is kept outlives its scope.
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
