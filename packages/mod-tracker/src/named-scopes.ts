import type { Tensor } from "@tensorflow/tfjs-core";
import { ModuleEntry } from "./module-entry.js";
import { OwnedTensors, type Weights } from "./owned-tensors.js";

/** The named scopes of plain functions, as modules, and what they own. @internal */
export class NamedScopes {
  private readonly entries = new Map<string, ModuleEntry>();
  private readonly owned = new OwnedTensors();

  own(parameters: Readonly<Record<string, Tensor>>, buffers: Readonly<Record<string, Tensor>>): void {
    this.owned.add(parameters, buffers);
  }

  /** Returns what is said to belong to a scope, or to a module of that name. */
  ownedBy(fqn: string): Weights {
    return this.owned.of(fqn);
  }

  /** Returns the module that the scope `fqn` is, in every call of it the same. */
  entryOf(fqn: string, kind = "Scope"): ModuleEntry {
    let entry = this.entries.get(fqn);
    if (entry === undefined) {
      entry = new ModuleEntry(fqn, kind, undefined, () => this.ownedBy(fqn));
      this.entries.set(fqn, entry);
    }
    return entry;
  }
}
