import { type Layer, ownWeights } from "./layer-internals.js";
import type { Weights } from "./owned-tensors.js";

/** A module that a tracker knows: a layer, a group of layers, an object that holds layers, or a named scope of a function. */
export interface TrackedModule {
  /** Components joined by dots, the root's name first. */
  readonly fqn: string;
  /** Class of the layer or object (`Module` where that has none of its own), or `Group`, or `Scope`. */
  readonly kind: string;
  /** Whether no module is inside it. */
  readonly leaf: boolean;
  readonly layer: Layer | undefined;
}

/** @internal */
export class ModuleEntry implements TrackedModule {
  readonly fqn: string;
  readonly kind: string;
  readonly layer: Layer | undefined;
  private readonly owned: () => Weights;
  /** As the trace has it; whether a scope is a leaf shows only when something runs in it. */
  readonly recorded: { readonly fqn: string; readonly kind: string; leaf: boolean };
  /** The layers whose weights are its weights. */
  readonly members: Layer[] = [];
  /** Index in the trace, once it is there, and how many weights it had when they were last told. */
  traced = -1;
  tracedWeights = 0;
  timesTold = 0;
  /** How a container runs: see `ContainerPlan`. */
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

  /** A module is inside it. */
  hasPart(): void {
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

/** What is known beforehand of a container's run. @internal */
export interface ContainerPlan {
  /** The groups around each call that it makes, outermost first, models that it runs without calling them among them; in order. */
  readonly calls: readonly { readonly layer: Layer; readonly groups: readonly ModuleEntry[] }[];
  readonly groupsOf: ReadonlyMap<Layer, readonly ModuleEntry[]>;
  readonly layers: ReadonlySet<Layer>;
  readonly outputLayers: ReadonlySet<Layer>;
}
