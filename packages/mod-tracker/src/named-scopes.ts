import type { Tensor } from "@tensorflow/tfjs-core";
import { ModuleEntry } from "./module-entry.js";
import { OwnedTensors, type Weights } from "./owned-tensors.js";

/** The named scopes of plain functions as modules, with their tensors. @internal */
export class NamedScopes {
  private readonly entries = new Map<string, ModuleEntry>();
  private readonly owned = new OwnedTensors();

  own(parameters: Readonly<Record<string, Tensor>>, buffers: Readonly<Record<string, Tensor>>): void {
    this.owned.add(parameters, buffers);
  }

  /** Returns the tensors declared for a scope, or for a module of that name. */
  ownedBy(fqn: string): Weights {
    return this.owned.of(fqn);
  }

  /** Returns the module of the scope `fqn`, the same for every call. */
  entryOf(fqn: string, kind = "Scope"): ModuleEntry {
    let entry = this.entries.get(fqn);
    if (entry === undefined) {
      entry = new ModuleEntry(fqn, kind, undefined, () => this.ownedBy(fqn));
      this.entries.set(fqn, entry);
    }
    return entry;
  }
}
