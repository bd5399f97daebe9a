import {
  type CallIndex,
  type ModuleIndex,
  type OpIndex,
  Phase,
  row,
  type StorageIndex,
  type TensorIndex,
  type Trace,
} from "@remat/trace";
import type { CastScope, MixedUnits } from "./cast-scope.js";
import { getOrInsert } from "./get-or-insert.js";
import { elementBytes } from "./sharding-plan.js";
import type { StorageDtypes } from "./storage-dtypes.js";
import type { StorageRoles } from "./storage-roles.js";

/**
 * Follows the casts of FSDP units: casts of their inputs and outputs, and of the gradients of both.
 *
 * @internal
 */
export class UnitCasts {
  private readonly trace: Trace;
  private readonly dtypes: StorageDtypes;
  private readonly scope: CastScope;
  private readonly ofParameters: StorageRoles["gradients"];
  readonly explicit: Map<number, { storage: number; dtype: string }[]> = new Map();
  readonly inputs: Map<number, Set<number>> = new Map();
  readonly gradients: Map<number, Map<number, string>> = new Map();
  /** Modules whose inputs are in the lower dtype before they cast any. */
  private readonly givenLow = new Map<number, boolean>();
  private readonly oneFloat: boolean;

  /** @param ofParameters gradients of parameters */
  constructor(trace: Trace, dtypes: StorageDtypes, scope: CastScope, ofParameters: StorageRoles["gradients"]) {
    this.trace = trace;
    this.dtypes = dtypes;
    this.scope = scope;
    this.ofParameters = ofParameters;
    this.oneFloat = trace.header.framework === "tfjs";
  }

  enter(eventRow: number): void {
    const { trace, scope } = this;
    const { call, phase, tensors } = trace.moduleEvents;
    const module = trace.calls.module[call[eventRow]];
    if (phase[eventRow] !== Phase.forward) return;
    if (scope.mixed !== undefined) {
      // FSDP casts keyword arguments too, but hooks do not see them.
      const given = [...row(tensors, eventRow), ...(scope.mixed.readFromOutside.get(call[eventRow]) ?? [])];
      if (scope.units.has(module)) this.enterUnit(call[eventRow], given, scope.mixed);
      return;
    }
    if (module !== scope.root) {
      if (!this.oneFloat && scope.units.has(module)) this.castGiven(module, row(tensors, eventRow));
      return;
    }
    for (const tensor of row(tensors, eventRow))
      if (this.dtypes.isWide(tensor)) this.dtypes.lowInside[trace.tensors.storage[tensor]] = 1;
  }

  /** Records the inputs that an FSDP unit gets in a wider dtype and casts. */
  private castGiven(module: ModuleIndex, tensors: Int32Array): void {
    for (const tensor of tensors) {
      const storage = this.trace.tensors.storage[tensor];
      if (!this.dtypes.isWide(tensor) || this.dtypes.lowInside[storage] === 1) continue;
      if (this.dtypes.isLow[storage] === 1 && this.dtypes.widened[storage] === 0) continue;
      getOrInsert(this.inputs, module, () => new Set<number>()).add(storage);
    }
  }

  private enterUnit(call: CallIndex, tensors: readonly TensorIndex[], mixed: MixedUnits): void {
    const { calls } = this.trace;
    const module = calls.module[call];
    const computesLow = mixed.isLow.get(module);
    if (computesLow === undefined) return;
    let givenLow = false;
    for (const tensor of tensors) {
      const storage = this.trace.tensors.storage[tensor];
      if (!this.dtypes.isWide(tensor)) continue;
      let around = calls.parent[call];
      while (around >= 0 && this.inputs.get(calls.module[around])?.has(storage) !== true) around = calls.parent[around];
      const low =
        around >= 0
          ? mixed.isLow.get(calls.module[around]) === true
          : this.dtypes.isLow[storage] === 1 && this.dtypes.widened[storage] === 0;
      if (low) givenLow = true;
      if (low ? mixed.castsUp.has(module) : computesLow)
        getOrInsert(this.inputs, module, () => new Set<number>()).add(storage);
    }
    this.givenLow.set(module, givenLow);
  }

  exit(eventRow: number, event: number): void {
    const { trace, scope } = this;
    if (trace.moduleEvents.phase[eventRow] !== Phase.forward) return;
    const dtype = scope.castModules.get(trace.calls.module[trace.moduleEvents.call[eventRow]]);
    if (dtype === undefined || elementBytes(dtype) <= elementBytes(this.dtypes.lowDtype)) return;
    const casts: { storage: number; dtype: string }[] = [];
    for (const tensor of row(trace.moduleEvents.tensors, eventRow)) {
      const storage = trace.tensors.storage[tensor];
      if (this.dtypes.isLow[storage] !== 1 || this.dtypes.widened[storage] === 1) continue;
      this.dtypes.widened[storage] = 1;
      casts.push({ storage, dtype });
    }
    if (casts.length > 0) this.explicit.set(event, casts);
  }

  /** Returns whether an FSDP unit in which an op runs was given a storage and cast it. */
  isCastFor(storage: StorageIndex, op: OpIndex): boolean {
    if (this.inputs.size === 0) return false;
    for (const call of this.trace.opCalls(op))
      if (this.inputs.get(this.trace.calls.module[call])?.has(storage)) return true;
    return false;
  }

  /**
   * Returns whether an op reads a storage in the lower dtype, in a plan where only some modules compute in that dtype.
   */
  isReadLow(storage: StorageIndex, op: OpIndex, phase: number, castModule: number): boolean {
    const { trace, scope } = this;
    if (this.dtypes.lowInside[storage] === 1) return true;
    const calls = trace.opCalls(op);
    const caster = calls.findLast((call) => this.inputs.get(trace.calls.module[call])?.has(storage));
    if (caster !== undefined) return scope.mixed?.isLow.get(trace.calls.module[caster]) === true;
    const isLow = this.dtypes.isLow[storage] === 1 && (this.dtypes.widened[storage] === 0 || castModule >= 0);
    const made = this.dtypes.madeIn[storage];
    // The gradient of a parameter keeps its dtype, whatever reads it, for example the op that adds it to those of other
    // passes.
    if (phase !== Phase.backward || made < 0 || this.ofParameters.has(storage)) return isLow;
    // A gradient that leaves a module gets the dtype of the matching input.
    const from = row(trace.stacks, made).findLast((call) => scope.mixed?.isLow.has(trace.calls.module[call]));
    if (from === undefined || calls.includes(from) || trace.ops.phase[this.dtypes.madeBy[storage]] !== Phase.backward)
      return isLow;
    const module = trace.calls.module[from];
    const low = this.givenLow.get(module) ?? isLow;
    if (low !== isLow) {
      const dtype = low ? this.dtypes.lowDtype : trace.tensorDtype(trace.opOutputs(this.dtypes.madeBy[storage])[0]);
      getOrInsert(this.gradients, module, () => new Map<number, string>()).set(storage, dtype);
    }
    return low;
  }
}
