import { type CallIndex, Category, itemAt, Phase, type TraceBuilder } from "@remat/trace";
import { fqnAt, type OracleFile, type OracleModule } from "./oracle-file.js";
import type { TensorTable } from "./tensor-table.js";

interface ActiveCall {
  readonly call: number;
  readonly phase: number;
}

/**
 * Tracks which module calls are active.
 *
 * It uses the exporter's module events, or in files without them, the set of active modules of each op. A backward pass
 * or a recomputation belongs to the module's latest forward call that has had no backward pass.
 */
export class ModuleActivity {
  private readonly builder: TraceBuilder;
  private readonly file: OracleFile;
  private readonly tensors: TensorTable;
  /** For each module, its parameters and buffers, including those of inner modules. */
  private readonly weights = new Map<string, { readonly parameters: Set<number>; readonly buffers: Set<number> }>();
  private readonly kinds = new Map<string, { readonly kind: string; readonly leaf: boolean }>();
  private readonly modules = new Map<string, number>();
  /** The nesting depth of each call in the forward pass. */
  private readonly depth: number[] = [];
  /** For each module, its forward calls without a backward pass so far. */
  private readonly pending = new Map<string, number[]>();
  /** For each module, the call whose forward or backward pass was seen last. */
  private readonly latest = new Map<string, number>();
  /** The active calls of each module, in the order of entering. */
  private readonly active = new Map<string, ActiveCall[]>();
  /** Calls whose backward passes are over. */
  private readonly ended = new Set<number>();
  /** Calls whose backward passes must be over although their end was not recorded. */
  private readonly over = new Set<number>();
  /** For each call, the call around it. */
  private readonly parent: number[] = [];
  private readonly kindOfCall: string[] = [];
  private readonly forwardStack: number[] = [];
  private stackId: number | undefined = 0;
  /** Calls that a hook of FSDP opened before the event of the module itself. */
  private readonly openedInHook = new Set<number>();

  constructor(builder: TraceBuilder, file: OracleFile, tensors: TensorTable) {
    this.builder = builder;
    this.file = file;
    this.tensors = tensors;
    // Sharded models list their modules without the root's name.
    const root = file.module_tree.find((module) => module.fqn === "")?.type;
    const fqnOf = (fqn: string): string => (root === undefined ? fqn : fqn === "" ? root : `${root}.${fqn}`);
    const parents = new Set<string>();
    for (const module of file.module_tree) {
      const fqn = fqnOf(module.fqn);
      this.own(fqn, module);
      for (let dot = fqn.lastIndexOf("."); dot >= 0; dot = fqn.lastIndexOf(".", dot - 1)) {
        parents.add(fqn.slice(0, dot));
        this.own(fqn.slice(0, dot), module);
      }
    }
    for (const module of file.module_tree) {
      const fqn = fqnOf(module.fqn);
      const leaf = module.n_children === undefined ? !parents.has(fqn) : module.n_children === 0;
      this.kinds.set(fqn, { kind: module.type, leaf });
    }
  }

  /** Returns the stack for `TraceBuilder.op`: the active calls, outermost first. */
  stack(): number {
    if (this.stackId === undefined) {
      const calls = new Set<number>();
      for (const list of this.active.values())
        for (const { call, phase } of list) if (!this.isLeftOver(call, phase)) calls.add(call);
      this.stackId = this.builder.stack(
        [...calls].sort((a, b) => itemAt(this.depth, a) - itemAt(this.depth, b) || a - b),
      );
    }
    return this.stackId;
  }

  /**
   * Sets the storages of a module's weights. This is more exact than the tree of modules, which lists a shared module
   * once.
   */
  owns(fqn: string, storages: ReadonlySet<number>): void {
    if (this.modules.has(fqn)) return;
    const weights = { parameters: new Set<number>(), buffers: new Set<number>() };
    const add = (tensors: readonly (readonly [string, unknown, ...unknown[]])[] | undefined, to: Set<number>): void => {
      for (const [, tensor] of tensors ?? [])
        if (typeof tensor === "number" && [itemAt(this.file.tensors, tensor).s].flat().some((s) => storages.has(s)))
          to.add(tensor);
    };
    for (const module of this.file.module_tree) {
      add(module.params, weights.parameters);
      add(module.buffers, weights.buffers);
    }
    // FSDP may all-gather weights into storages outside of the tree, or after the module is entered. Then the tree is
    // more exact.
    if (weights.parameters.size + weights.buffers.size > 0) this.weights.set(fqn, weights);
  }

  /** Returns the class of the innermost module in its forward pass. */
  get innermostKind(): string | undefined {
    const call = this.forwardStack.at(-1);
    return call === undefined ? undefined : this.kindOfCall[call];
  }

  /** Opens a call of the module in `phase` and returns it. The caller informs the builder. */
  enter(fqn: string, phase: number, leaf: boolean | undefined, tensorInput: boolean): number {
    const call =
      phase === Phase.forward ? this.newCall(fqn, leaf, tensorInput) : this.earlierCall(fqn, phase, leaf, tensorInput);
    this.latest.set(fqn, call);
    if (phase === Phase.backward) this.ended.delete(call);
    const list = this.active.get(fqn);
    if (list === undefined) this.active.set(fqn, [{ call, phase }]);
    else list.push({ call, phase });
    if (phase === Phase.forward) this.forwardStack.push(call);
    this.stackId = undefined;
    return call;
  }

  /** Opens a call of the module when a hook of FSDP begins. */
  enterInHook(fqn: string, phase: number): number {
    const call = this.enter(fqn, phase, undefined, true);
    this.openedInHook.add(call);
    return call;
  }

  /** Returns whether a hook has already opened the call that an event of the module opens. */
  isEnteredInHook(fqn: string, phase: number): boolean {
    const last = this.active.get(fqn)?.findLast((active) => active.phase === phase);
    return last !== undefined && this.openedInHook.delete(last.call);
  }

  /**
   * Closes the innermost call of the module that is active in `phase`. PyTorch reports the end of a backward pass
   * without its beginning if an in-place op of a later module, or `detach`, replaced the module's result. Such an end
   * belongs to the latest call.
   */
  exit(fqn: string, phase: number): number | undefined {
    const list = this.active.get(fqn);
    const at = list?.findLastIndex((active) => active.phase === phase) ?? -1;
    if (list === undefined || at < 0) {
      if (phase !== Phase.backward) return undefined;
      const call = this.pending.get(fqn)?.pop() ?? this.latest.get(fqn);
      if (call === undefined) return undefined;
      // Calls in the same outer call that ran later and have begun produced the gradient with which this pass began, so
      // they are over.
      for (const active of this.active.values())
        for (const { call: later, phase: of } of active)
          if (of === Phase.backward && later > call && this.parent[later] === this.parent[call]) this.over.add(later);
      this.end(call);
      return call;
    }
    const { call } = itemAt(list, at);
    list.splice(at, 1);
    if (list.length === 0) this.active.delete(fqn);
    if (phase === Phase.forward) this.forwardStack.splice(this.forwardStack.lastIndexOf(call), 1);
    if (phase === Phase.backward) this.end(call);
    this.stackId = undefined;
    return call;
  }

  private end(call: CallIndex): void {
    this.ended.add(call);
    this.stackId = undefined;
  }

  /**
   * Returns whether a backward pass is over although its end was not reported. An in-place module reports only the
   * beginning of its backward pass, and PyTorch's tracker keeps it active until the run ends. A pass cannot outlast the
   * call around it.
   */
  private isLeftOver(call: CallIndex, phase: number): boolean {
    // FSDP reports the end of a unit's backward pass together with that of its group.
    if (phase !== Phase.backward || this.file.schema === "fsdp-oracle/1") return false;
    if (this.over.has(call)) return true;
    for (let outer = itemAt(this.parent, call); outer >= 0; outer = itemAt(this.parent, outer))
      if (this.ended.has(outer)) return true;
    return false;
  }

  isActive(fqn: string): boolean {
    return this.active.has(fqn);
  }

  /** Returns the active call of the module, or else its last one. */
  latestCall(fqn: string): number | undefined {
    return this.active.get(fqn)?.at(-1)?.call ?? this.latest.get(fqn);
  }

  /** Makes the active modules equal to the set recorded for an op, and informs the builder of each change. */
  follow(fqnIds: readonly number[], phase: number): void {
    const fqns = fqnIds.map((id) => fqnAt(this.file, id)).filter((fqn) => fqn !== "Global");
    if (fqns.length === this.active.size && fqns.every((fqn) => this.active.has(fqn))) return;
    const wanted = new Set(fqns);
    const gone = [...this.active].filter(([fqn]) => !wanted.has(fqn)).reverse();
    for (const [fqn, list] of gone)
      for (const { phase: entered } of [...list].reverse())
        this.builder.exitModule(this.exit(fqn, entered) as number, entered);
    const came = fqns.filter((fqn) => !this.active.has(fqn)).sort((a, b) => dots(a) - dots(b));
    for (const fqn of came) {
      const entered = phase === Phase.backward || phase === Phase.recompute ? phase : Phase.forward;
      this.builder.enterModule(this.enter(fqn, entered, undefined, true), entered);
    }
  }

  private own(fqn: string, module: OracleModule): void {
    let weights = this.weights.get(fqn);
    if (weights === undefined) this.weights.set(fqn, (weights = { parameters: new Set(), buffers: new Set() }));
    // Sharded models have shapes instead of tensors.
    for (const [, tensor] of module.params ?? []) if (typeof tensor === "number") weights.parameters.add(tensor);
    for (const [, tensor] of module.buffers ?? []) if (typeof tensor === "number") weights.buffers.add(tensor);
  }

  private newCall(fqn: string, leaf: boolean | undefined, tensorInput: boolean): number {
    const parent = this.forwardStack.at(-1) ?? -1;
    const call = this.builder.call(this.module(fqn, leaf), parent, tensorInput);
    this.parent[call] = parent;
    this.kindOfCall[call] = this.kinds.get(fqn)?.kind ?? "Module";
    this.depth[call] = parent < 0 ? 0 : itemAt(this.depth, parent) + 1;
    const pending = this.pending.get(fqn);
    if (pending === undefined) this.pending.set(fqn, [call]);
    else pending.push(call);
    return call;
  }

  private earlierCall(fqn: string, phase: number, leaf: boolean | undefined, tensorInput: boolean): number {
    const active = this.active.get(fqn)?.at(-1);
    if (phase === Phase.recompute && active !== undefined) return active.call;
    const pending = this.pending.get(fqn);
    const call = phase === Phase.backward ? pending?.pop() : pending?.at(-1);
    // The first observation of a module without a recorded forward pass creates its call.
    return call ?? this.latest.get(fqn) ?? this.newCall(fqn, leaf, tensorInput);
  }

  private module(fqn: string, leaf: boolean | undefined): number {
    let module = this.modules.get(fqn);
    if (module === undefined) {
      const known = this.kinds.get(fqn);
      module = this.builder.module({ fqn, kind: known?.kind ?? "Module", leaf: leaf ?? known?.leaf ?? false });
      this.modules.set(fqn, module);
      const { parameters, buffers } = this.weights.get(fqn) ?? { parameters: [], buffers: [] };
      this.builder.moduleWeights(
        module,
        Array.from(parameters, (tensor) => this.tensors.find(tensor, Category.parameter)),
        Array.from(buffers, (tensor) => this.tensors.find(tensor, Category.buffer)),
      );
    }
    return module;
  }
}

function dots(fqn: string): number {
  let count = 0;
  for (let i = fqn.indexOf("."); i >= 0; i = fqn.indexOf(".", i + 1)) count++;
  return count;
}
