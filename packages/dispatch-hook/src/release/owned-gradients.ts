import type { Tensor } from "@tensorflow/tfjs-core";

/** Field of a tensor by which the engine knows the scope that disposes of it. */
export interface ScopedTensor extends Tensor {
  scopeId: number;
}

/**
 * The gradients that have arrived and are still needed, by tensor id. A gradient function may return its argument, a
 * saved tensor, or one tensor for several inputs, so owners are counted by identity. Only tensors made by the backward
 * pass are disposed of, not a caller's dy, a constant of the user, or a kept tensor.
 *
 * @internal
 */
export class OwnedGradients {
  private readonly ownScopes: ReadonlySet<number>;
  private readonly byId = new Map<number, Tensor>();
  private readonly holders = new Map<Tensor, number>();
  /** Saved tensors whose node is over, and that are gradients themselves. */
  private readonly savedOnes = new Set<Tensor>();

  constructor(ownScopes: ReadonlySet<number>) {
    this.ownScopes = ownScopes;
  }

  get(id: number): Tensor | undefined {
    return this.byId.get(id);
  }

  set(id: number, gradient: Tensor): void {
    this.holders.set(gradient, (this.holders.get(gradient) ?? 0) + 1);
    const before = this.byId.get(id);
    this.byId.set(id, gradient);
    if (before !== undefined) this.free(before);
  }

  delete(id: number): void {
    const gradient = this.byId.get(id);
    if (gradient === undefined) return;
    this.byId.delete(id);
    this.free(gradient);
  }

  isHeld(tensor: Tensor): boolean {
    return this.holders.has(tensor);
  }

  /** Frees a saved tensor after its last use. If it is a gradient itself, it is freed after the last use of that. */
  releaseSaved(saved: Tensor): void {
    if (this.isHeld(saved)) this.savedOnes.add(saved);
    else saved.dispose();
  }

  /** The saved tensors that are gradients until the end. */
  get remainingSaved(): Iterable<Tensor> {
    return this.savedOnes;
  }

  private free(gradient: Tensor): void {
    const count = (this.holders.get(gradient) ?? 0) - 1;
    if (count > 0) {
      this.holders.set(gradient, count);
      return;
    }
    this.holders.delete(gradient);
    const isOwn =
      this.savedOnes.delete(gradient) || (!gradient.kept && this.ownScopes.has((gradient as ScopedTensor).scopeId));
    if (isOwn) gradient.dispose();
  }
}
