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
import { recordModule } from "./record-module.js";
import type { ModTrackerOptions, TrackOptions } from "./tracker-options.js";
import { checkHooks, type UserHooks } from "./user-hooks.js";

/** Name of a scope whose name is empty. */
const unnamed = "unnamed";

/**
 * Tracks which module is running, forward or backward: layers of tracked models, groups of layers, and named scopes of
 * plain functions. It is a dispatch mode and works only while it is open. Source:
 * `torch/distributed/_tools/mod_tracker.py`.
 *
 * A layer is called when its `call` runs with tensors. Building a graph from symbolic tensors does not count. A module
 * may have several calls. The backward pass of a call lasts from the first to the last tape node of its ops. A forward
 * call inside a gradient function is a recomputation.
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
  /** Depth of the backward pass when each running `gradients` call began. */
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

  /** FQNs of the modules that are running, forward or backward, and `Global`. */
  get parents(): ReadonlySet<string> {
    return this.active.names;
  }

  /** True during a backward pass, including its recomputations. */
  get isBackward(): boolean {
    return this.phase === Phase.backward || this.phase === Phase.recompute;
  }

  /** The innermost running module. Undefined outside of all modules. */
  get activeModule(): TrackedModule | undefined {
    return this.innermost?.entry;
  }

  /**
   * Tracks a model or a layer, including all layers inside, until `close`. You can also pass an object of your own
   * class that contains layers and calls them in its `forward`. Results and configuration do not change. Two trackers
   * may track one model.
   *
   * @param model the model, layer or object
   * @param options root name and grouping
   * @throws RematError `MODEL_NOT_BUILT` if a model has no graph yet
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

  /**
   * Records the variables of `optimizer` as its state and its updates as steps. The optimizer of a compiled model is
   * found without this call.
   */
  trackOptimizer(optimizer: object): void {
    if (!isDispatching(this)) {
      this.optimizers.add(optimizer);
      return;
    }
    watchOptimizer(optimizer);
    for (const slot of optimizerSlots(optimizer)) this.recorder?.categorizeTensor(slot, Category.optimizerState);
  }

  /**
   * Runs `fn` as the module `name` inside the running module. In a scope `model`, both `block` and `model.block` have
   * the FQN `model.block`. An empty name becomes `unnamed`. If `fn` returns a promise, the module runs until it
   * settles.
   *
   * @param inputs tensors that `fn` reads, for the trace
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
   * Sets the nested scopes of the following ops within the running scope. Use it if you know which scope comes next but
   * not when it ends, as the interpreter of a graph does. Open scopes that match stay open. All of these scopes end
   * when the running scope ends. Does nothing outside of a scope.
   *
   * @param kind kind of the innermost scope, `Scope` by default
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
   * Declares the variables and buffers of named scopes. Names begin with the FQN of the scope that the tensor belongs
   * to.
   *
   * @example
   * tracker.own({ "model.attention.query": query, "model.attention.key": key }, { "model.mask": mask });
   */
  own(parameters: Readonly<Record<string, Tensor>>, buffers: Readonly<Record<string, Tensor>> = {}): void {
    this.scopes.own(parameters, buffers);
  }

  /**
   * Runs `fn` with this tracker, and the recorder if there is one, as dispatch modes.
   *
   * @example
   * await tracker.run(() => model.fit(x, y));
   */
  run<T>(fn: () => T): T {
    const tracked = () => withDispatchMode(this, fn);
    return this.recorder === undefined ? tracked() : withDispatchMode(this.recorder, tracked);
  }

  /** The tracked models, their layers, and groups of layers. Scopes are known only once they run. */
  get modules(): readonly TrackedModule[] {
    const all = new Set<TrackedModule>();
    for (const entry of this.entries.values()) {
      all.add(entry);
      for (const groups of entry.plan?.groupsOf.values() ?? []) for (const group of groups) all.add(group);
    }
    return [...all];
  }

  /** Returns the FQN of a layer, or undefined if it is not tracked. */
  getKnownFqn(layer: Part): string | undefined {
    return this.entries.get(layer)?.fqn;
  }

  /**
   * Runs `body`, in which tfjs-layers runs the tracked `model` from its first layer to its last without calling it.
   * `inputs` may be undefined if it runs on parts of them.
   *
   * @internal
   */
  trackRun<T>(model: Part, inputs: readonly Tensor[] | undefined, body: () => T): T {
    const entry = this.entries.get(model);
    if (entry === undefined || !isDispatching(this)) return body();
    const { optimizer } = model as { optimizer?: object | null };
    if (optimizer != null) this.trackOptimizer(optimizer);
    return this.forward.runModel(entry, inputs, body);
  }

  /**
   * Registers functions to call around each module's forward and backward pass. Only one function can be registered for
   * each of the four events.
   *
   * @throws RematError `HOOK_TAKEN` if a function for the same event is already registered
   */
  registerUserHooks(hooks: UserHooks): void {
    checkHooks(this.hooks, hooks);
    this.hooks = { ...this.hooks, ...hooks };
  }

  /** Removes all registered hooks. */
  clearUserHooks(): void {
    this.hooks = {};
  }

  /** Ends tracking and restores every tracked model. */
  close(): void {
    this.patches.restore();
    this.entries.clear();
  }

  /** Makes errors of fake mode name the running module. */
  opened(): void {
    this.stopNaming = nameModulesBy(() => this.activeModule?.fqn);
  }

  /** Stops naming modules in errors. */
  closed(): void {
    this.stopNaming();
  }

  /** Records the current phase. */
  phaseChanged(phase: number): void {
    this.phase = phase;
  }

  /** Leaves all modules at the end of a pass. */
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

  /** Leaves the modules that the backward pass is in. */
  gradientsDone(): void {
    this.backward.leaveTo(this.passes.at(-1) ?? 0);
  }

  /** Records the module call of a tape node. */
  tapeNodeAdded(node: TapeNode): void {
    // Ops of a gradient function belong to the differentiated call, unless they run in a module call of their own.
    this.backward.note(node, this.innermost);
  }

  /** Enters and leaves modules of the backward pass. */
  backwardNodeEntered(node: TapeNode, gradients: readonly (Tensor | undefined)[]): void {
    this.backward.reach(
      node,
      gradients.filter((dy) => dy !== undefined),
    );
  }

  /** Records the gradients of inputs of modules. */
  backwardNodeExited(_node: TapeNode, gradients: readonly InputGradient[]): void {
    this.backward.collect(gradients);
  }

  /** Records the end of a step. */
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
      patchModelRuns(model, (inputs, body) => this.trackRun(model, inputs, body), this.patches);
  }

  private enterForward(entry: ModuleEntry, inputs: readonly Tensor[], parent: ModuleCall | undefined): number {
    if (parent === undefined) this.beginRoot();
    else parent.entry.markContainer();
    recordModule(this.recorder, entry);
    return this.recorder?.enterCall(entry.traced, inputs, parent?.traced ?? -1) ?? -1;
  }

  private exitForward({ entry, inputs, traced }: ModuleCall, outputs: readonly Tensor[]): void {
    this.hooks.postForward?.(entry, inputs, outputs);
    recordModule(this.recorder, entry);
    this.recorder?.exitCall(traced, outputs);
    this.active.remove(entry.fqn);
  }

  /** At the first module of a step the previous step is over, and optimizer state exists from the beginning. */
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
