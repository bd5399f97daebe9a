import {
  type DispatchInterceptor,
  type DispatchObserver,
  type GradientsCall,
  type GradientsResult,
  type InputGradient,
  isDispatching,
  nameModulesBy,
  PatchSet,
  type TapeNode,
  watchOptimizer,
  withDispatchMode,
} from "@remat/dispatch-hook";
import { Category, Phase, resetModStatsMark } from "@remat/trace";
import type { Tensor } from "@tensorflow/tfjs-core";
import { ActiveModules } from "./active-modules.js";
import { BackwardCalls } from "./backward-calls.js";
import { buildEntries } from "./build-entries.js";
import { ForwardCalls } from "./forward-calls.js";
import { type ForwardModule, kindOf, type Part } from "./forward-module.js";
import { type Container, isContainer, isLayer, type Layer, tensorsOf } from "./layer-internals.js";
import type { ModuleCall } from "./module-call.js";
import type { ModuleEntry, TrackedModule } from "./module-entry.js";
import { NamedScopes } from "./named-scopes.js";
import { optimizerSlots } from "./optimizer-slots.js";
import { patchModelRuns } from "./patch-model-runs.js";
import { tellModule } from "./tell-module.js";
import type { ModTrackerOptions, TrackOptions } from "./tracker-options.js";
import { checkHooks, type UserHooks } from "./user-hooks.js";

/** What a scope is called whose name is empty. */
const unnamed = "unnamed";

/**
 * Knows which module runs, forward or backward: layers of tracked models, groups of layers, and named scopes of plain functions. It is a
 * dispatch mode, and tells only while it is open. Source: `torch/distributed/_tools/mod_tracker.py`.
 *
 * A layer's call is a call of its `call` with tensors; symbolic construction is none. A module called several times has several calls.
 * The backward pass of a call lasts from the first to the last tape node of its ops. What runs forward inside a gradient function is a
 * recomputation.
 *
 * @example
 * const recorder = new TraceRecorder();
 * const tracker = new ModTracker({ recorder });
 * tracker.track(model, { name: "net" });
 * await tracker.run(() => model.trainOnBatch(x, y));
 * tracker.close();
 */
export class ModTracker implements DispatchObserver, DispatchInterceptor {
  private readonly recorder: ModTrackerOptions["recorder"];
  private readonly entries = new Map<Part, ModuleEntry>();
  private readonly scopes = new NamedScopes();
  private readonly optimizers = new Set<object>();
  private readonly patches = new PatchSet();
  private readonly active = new ActiveModules();
  private readonly forward: ForwardCalls;
  private readonly backward: BackwardCalls;
  private hooks: UserHooks = {};
  private phase: number = Phase.forward;
  private stepIsOver = false;
  private stopNaming: () => void = () => {};
  /** How deep the backward pass was when each running `gradients` began. */
  private readonly passes: number[] = [];

  constructor(options: ModTrackerOptions = {}) {
    this.recorder = options.recorder;
    this.forward = new ForwardCalls({
      entering: (entry, inputs, parent) => this.enterForward(entry, inputs, parent),
      entered: ({ entry, inputs }) => {
        this.active.add(entry.fqn);
        this.hooks.preForward?.(entry, inputs);
      },
      leaving: (call, outputs) => this.exitForward(call, outputs),
      around: () => (this.isBackward ? this.backward.innermost : undefined),
    });
    this.backward = new BackwardCalls({
      enter: (call, gradients) => this.enterBackward(call, gradients),
      exit: (call, gradients) => this.exitBackward(call, gradients),
    });
  }

  /** FQNs of the modules that run now, forward or backward, and `Global`. */
  get parents(): ReadonlySet<string> {
    return this.active.names;
  }

  /** Whether a backward pass runs, recomputations in it included. */
  get isBackward(): boolean {
    return this.phase === Phase.backward || this.phase === Phase.recompute;
  }

  /** The module that runs now, innermost; undefined outside of all. */
  get activeModule(): TrackedModule | undefined {
    return this.innermost?.entry;
  }

  /**
   * Tracks a model, or a single layer, and all layers that it is made of, until `close`; also an object of a class of the user's own that holds layers,
   * and calls them in its `forward`. Neither its results nor its configuration change. Two trackers may track one model.
   */
  track(model: Part, options: TrackOptions = {}): TrackedModule {
    const known = this.entries.get(model);
    if (known !== undefined) return known;
    const before = new Set(this.entries.keys());
    const fqn = options.name ?? (isLayer(model) ? model.name : kindOf(model));
    const ownedBy = (owner: string) => this.scopes.ownedBy(owner);
    try {
      const root = buildEntries(model, fqn, { grouping: options.grouping ?? "auto", known: this.entries, ownedBy });
      for (const [part, entry] of this.entries) {
        if (before.has(part)) continue;
        if (isLayer(part)) this.patchLayer(entry, part);
        else this.patchForward(entry, part);
      }
      return root;
    } catch (error) {
      for (const part of this.entries.keys()) if (!before.has(part)) this.entries.delete(part);
      throw error;
    }
  }

  /** Lets `optimizer`'s variables count as its state and its steps as steps. That of a compiled model is found without. */
  trackOptimizer(optimizer: object): void {
    if (!isDispatching(this)) {
      this.optimizers.add(optimizer);
      return;
    }
    watchOptimizer(optimizer);
    for (const slot of optimizerSlots(optimizer)) this.recorder?.categorizeTensor(slot, Category.optimizerState);
  }

  /**
   * Runs `fn` as the module `name`, inside the module that runs: in a scope `model`, the scope `block` has the FQN `model.block` (as has
   * `model.block`). A scope with an empty name is called `unnamed`. Where `fn` returns a promise the module runs until that is settled.
   *
   * @param inputs tensors that `fn` works on, for the trace
   *
   * @example
   * tracker.scope("attention", () => tf.softmax(tf.matMul(q, k, false, true)), [q, k]);
   */
  scope<T>(name: string, fn: () => T, inputs: readonly Tensor[] = []): T {
    if (!isDispatching(this)) return fn();
    const around = this.innermost?.entry.fqn;
    const own = name === "" ? unnamed : name;
    const fqn = around === undefined || own.startsWith(`${around}.`) ? own : `${around}.${own}`;
    return this.forward.runModule(this.scopes.entryOf(fqn), inputs, fn);
  }

  /**
   * Says in which scopes the ops that follow are, one inside the other, within the scope that runs: for what knows what it runs next, but not when that is over,
   * as the interpreter of a graph does. Those that are open already stay so; all end with the scope around them. Outside of any scope it does nothing.
   *
   * @param kind of the innermost, `Scope` if not given
   * @example
   * tracker.scope("graph", () => tracker.moveTo(["block1", "conv"], "Conv2D"));
   */
  moveTo(path: readonly string[], kind?: string): void {
    const around = this.forward.running?.entry.fqn;
    if (!isDispatching(this) || around === undefined) return;
    const fqnOf = (_: string, i: number): string => [around, ...path.slice(0, i + 1)].join(".");
    this.forward.moveTo(
      path.map(fqnOf).map((fqn, i) => this.scopes.entryOf(fqn, i === path.length - 1 ? kind : undefined)),
    );
  }

  /**
   * Tells what named scopes own: variables, and for buffers any tensors, by names that begin with the FQN of the scope that they belong to.
   *
   * @example
   * tracker.own({ "model.attention.query": query, "model.attention.key": key }, { "model.mask": mask });
   */
  own(parameters: Readonly<Record<string, Tensor>>, buffers: Readonly<Record<string, Tensor>> = {}): void {
    this.scopes.own(parameters, buffers);
  }

  /**
   * Runs `fn` with the recorder, if there is one, and this tracker as dispatch modes.
   *
   * @example
   * await tracker.run(() => model.fit(x, y));
   */
  run<T>(fn: () => T): T {
    const tracked = () => withDispatchMode(this, fn);
    return this.recorder === undefined ? tracked() : withDispatchMode(this.recorder, tracked);
  }

  /** The tracked models, their layers, and the groups of these. Scopes are known only once they run. */
  get modules(): readonly TrackedModule[] {
    const all = new Set<TrackedModule>();
    for (const entry of this.entries.values()) {
      all.add(entry);
      for (const groups of entry.plan?.groupsOf.values() ?? []) for (const group of groups) all.add(group);
    }
    return [...all];
  }

  /** The FQN of a layer, if it is tracked. */
  getKnownFqn(layer: Part): string | undefined {
    return this.entries.get(layer)?.fqn;
  }

  /**
   * Runs `body`, in which tfjs-layers runs the tracked `model` without calling it, on `inputs` or on parts of them if left out: from the first of its
   * layers to the last.
   *
   * @internal
   */
  awaitRun<T>(model: Part, inputs: readonly Tensor[] | undefined, body: () => T): T {
    const entry = this.entries.get(model);
    if (entry === undefined || !isDispatching(this)) return body();
    const { optimizer } = model as { optimizer?: object | null };
    if (optimizer != null) this.trackOptimizer(optimizer);
    return this.forward.awaitModel(entry, inputs, body);
  }

  /** Functions to call around each module's forward and backward pass. One of each kind at a time. */
  registerUserHooks(hooks: UserHooks): void {
    checkHooks(this.hooks, hooks);
    this.hooks = { ...this.hooks, ...hooks };
  }

  clearUserHooks(): void {
    this.hooks = {};
  }

  /** Restores every tracked instance. */
  close(): void {
    this.patches.restore();
    this.entries.clear();
  }

  opened(): void {
    this.stopNaming = nameModulesBy(() => this.activeModule?.fqn);
  }

  closed(): void {
    this.stopNaming();
  }

  phaseChanged(phase: number): void {
    this.phase = phase;
  }

  gradients(_call: GradientsCall, next: () => GradientsResult): GradientsResult {
    const { depth } = this.backward;
    this.passes.push(depth);
    try {
      return next();
    } finally {
      this.backward.leaveTo(depth);
      this.passes.pop();
      if (this.passes.length === 0) this.backward.forget();
    }
  }

  gradientsDone(): void {
    this.backward.leaveTo(this.passes.at(-1) ?? 0);
  }

  tapeNodeAdded(node: TapeNode): void {
    // What a gradient function runs belongs to the call that it differentiates, unless that calls a module anew.
    this.backward.note(node, this.innermost);
  }

  backwardNodeEntered(node: TapeNode, gradients: readonly (Tensor | undefined)[]): void {
    this.backward.reach(
      node,
      gradients.filter((dy) => dy !== undefined),
    );
  }

  backwardNodeExited(_node: TapeNode, gradients: readonly InputGradient[]): void {
    this.backward.collect(gradients);
  }

  optimizerStepDone(): void {
    this.stepIsOver = true;
  }

  private get innermost(): ModuleCall | undefined {
    const forward = this.forward.current;
    const backward = this.backward.innermost;
    return (backward?.depth ?? 0) < (forward?.depth ?? 0) ? forward : backward;
  }

  private patchLayer(entry: ModuleEntry, layer: Layer): void {
    this.patches.patch(layer, "call", (original) => (inputs, kwargs) => {
      const tensors = isDispatching(this) ? tensorsOf(inputs) : undefined;
      const run = () => original.call(layer, inputs, kwargs);
      return tensors === undefined ? run() : this.forward.runLayer(entry, tensors, run);
    });
    if (isContainer(layer)) this.patchRuns(layer);
  }

  private patchForward(entry: ModuleEntry, module: ForwardModule): void {
    this.patches.patch(module, "forward", (original) => (...inputs) => {
      const tensors = isDispatching(this) ? tensorsOf(inputs) : undefined;
      const run = () => original.apply(module, inputs);
      return tensors === undefined ? run() : this.forward.runModule(entry, tensors, run);
    });
  }

  private patchRuns(model: Container): void {
    if ("predictLoop" in model)
      patchModelRuns(model, (inputs, body) => this.awaitRun(model, inputs, body), this.patches);
  }

  private enterForward(entry: ModuleEntry, inputs: readonly Tensor[], parent: ModuleCall | undefined): number {
    if (parent === undefined) this.beginRoot();
    else parent.entry.hasPart();
    tellModule(this.recorder, entry);
    return this.recorder?.enterCall(entry.traced, inputs, parent?.traced ?? -1) ?? -1;
  }

  private exitForward({ entry, inputs, traced }: ModuleCall, outputs: readonly Tensor[]): void {
    this.hooks.postForward?.(entry, inputs, outputs);
    tellModule(this.recorder, entry);
    this.recorder?.exitCall(traced, outputs);
    this.active.remove(entry.fqn);
  }

  /** The first module of a step: what the last left behind is over, and what an optimizer keeps is there from the beginning. */
  private beginRoot(): void {
    if (this.stepIsOver) this.recorder?.mark(resetModStatsMark);
    this.stepIsOver = false;
    for (const optimizer of this.optimizers) this.trackOptimizer(optimizer);
    this.optimizers.clear();
  }

  private enterBackward(call: ModuleCall, gradients: readonly Tensor[]): void {
    this.active.add(call.entry.fqn);
    this.recorder?.enterBackward(call.traced, gradients);
    this.hooks.preBackward?.(call.entry, gradients);
  }

  private exitBackward(call: ModuleCall, gradients: readonly Tensor[]): void {
    this.hooks.postBackward?.(call.entry, gradients);
    this.recorder?.exitBackward(call.traced, gradients);
    this.active.remove(call.entry.fqn);
  }
}
