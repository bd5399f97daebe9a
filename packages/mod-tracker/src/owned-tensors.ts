import type { Tensor } from "@tensorflow/tfjs-core";

/** Parameters and buffers of a module. @internal */
export interface Weights {
  readonly parameters: readonly Tensor[];
  readonly buffers: readonly Tensor[];
}

/** Sets, since a tensor may have two names in a scope. */
interface Owned {
  readonly parameters: Set<Tensor>;
  readonly buffers: Set<Tensor>;
}

/** Tensors of plain functions, by the FQN of their scope and a name in it. @internal */
export class OwnedTensors {
  private readonly parameters = new Map<string, Tensor>();
  private readonly buffers = new Map<string, Tensor>();
  /** Computed on first use and cached, since every call of every scope reads it. */
  private byScope: Map<string, Owned> | undefined;

  add(parameters: Readonly<Record<string, Tensor>>, buffers: Readonly<Record<string, Tensor>>): void {
    for (const [name, tensor] of Object.entries(parameters)) this.parameters.set(name, tensor);
    for (const [name, tensor] of Object.entries(buffers)) this.buffers.set(name, tensor);
    this.byScope = undefined;
  }

  /** Returns the tensors of the scope `fqn` and of scopes inside it. */
  of(fqn: string): Weights {
    this.byScope ??= this.sortByScope();
    const { parameters = [], buffers = [] } = this.byScope.get(fqn) ?? {};
    return { parameters: [...parameters], buffers: [...buffers] };
  }

  private sortByScope(): Map<string, Owned> {
    const scopes = new Map<string, Owned>();
    for (const kind of ["parameters", "buffers"] as const)
      for (const [name, tensor] of this[kind])
        for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
          const scope = name.slice(0, dot);
          let owned = scopes.get(scope);
          if (owned === undefined) scopes.set(scope, (owned = { parameters: new Set(), buffers: new Set() }));
          owned[kind].add(tensor);
        }
    return scopes;
  }
}
