import { type Layer, ownWeights } from "./layer-internals.js";
import type { Weights } from "./owned-tensors.js";

/** A tracked module: a layer, a group of layers, an object that contains layers, or a named scope of a function. */
export interface TrackedModule {
  /** Fully qualified name: components joined by dots, the root's name first. */
  readonly fqn: string;
  /** Class of the layer or object (`Module` for a plain object), `Group`, or `Scope`. */
  readonly kind: string;
  /** True if no module is inside it. */
  readonly leaf: boolean;
  /** The layer, if the module is one. */
  readonly layer: Layer | undefined;
}

/** A tracked module and its trace index. @internal */
export class ModuleEntry implements TrackedModule {
  readonly fqn: string;
  readonly kind: string;
  readonly layer: Layer | undefined;
  private readonly owned: () => Weights;
  /** The module as recorded in the trace. Whether a scope is a leaf shows only when something runs in it. */
  readonly recorded: { readonly fqn: string; readonly kind: string; leaf: boolean };
  /** The layers whose weights belong to it. */
  readonly members: Layer[] = [];
  /** Index in the trace, or -1 before it is recorded. */
  traced = -1;
  /** Number of weights when they were last recorded. */
  tracedWeights = 0;
  /** How often its weights were looked for. */
  timesRecorded = 0;
  /** How a container runs. See `ContainerPlan`. */
  plan: ContainerPlan | undefined;

  constructor(
    fqn: string,
    kind: string,
    layer: Layer | undefined,
    owned: () => Weights = () => ({ parameters: [], buffers: [] }),
  ) {
    this.fqn = fqn;
    this.kind = kind;
    this.layer = layer;
    this.owned = owned;
    this.recorded = { fqn, kind, leaf: true };
  }

  get leaf(): boolean {
    return this.recorded.leaf;
  }

  /** Records that a module is inside it. */
  markContainer(): void {
    this.recorded.leaf = false;
  }

  weights(): Weights {
    if (this.members.length === 0) return this.owned();
    const all = [...this.members.map(ownWeights), this.owned()];
    return {
      parameters: [...new Set(all.flatMap(({ parameters }) => parameters))],
      buffers: [...new Set(all.flatMap(({ buffers }) => buffers))],
    };
  }
}

/** The calls that a container will make. @internal */
export interface ContainerPlan {
  /** The groups around each call in order, outermost first, including models that it runs without calling them. */
  readonly calls: readonly { readonly layer: Layer; readonly groups: readonly ModuleEntry[] }[];
  readonly groupsOf: ReadonlyMap<Layer, readonly ModuleEntry[]>;
  readonly layers: ReadonlySet<Layer>;
  readonly outputLayers: ReadonlySet<Layer>;
}
