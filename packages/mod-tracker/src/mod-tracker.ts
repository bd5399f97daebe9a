import {
  type DispatchMode,
  type GradientsCall,
  type GradientsResult,
  type InputGradient,
  isDispatching,
  nameModulesBy,
  PatchSet,
  type TapeNode,
  type TraceRecorder,
  watchOptimizer,
  withDispatchMode,
} from "@remat/dispatch-hook";
import { Category, Phase, RematError, resetModStatsMark } from "@remat/trace";
import type { Tensor } from "@tensorflow/tfjs-core";
import { BackwardCalls } from "./backward-calls.js";
import { buildEntries } from "./build-entries.js";
import type { Grouping } from "./group-layers.js";
import { isContainer, type Layer, tensorsOf } from "./layer-internals.js";
import type { ContainerRun, ModuleCall } from "./module-call.js";
import { ModuleEntry, type TrackedModule } from "./module-entry.js";
import { optimizerSlots } from "./optimizer-slots.js";
import { OwnedTensors } from "./owned-tensors.js";
import { patchModelRuns } from "./patch-model-runs.js";
import { checkHooks, type UserHooks } from "./user-hooks.js";

export interface ModTrackerOptions {
  /** Where module calls are written: as events, and as the stack of each op. */
  readonly recorder?: TraceRecorder;
}

export interface TrackOptions {
  /** The root of the FQNs; left out: the model's name. */
  readonly name?: string;
  /** How flat models get a hierarchy; left out: `auto`. */
  readonly grouping?: Grouping;
}

/** What `parents` always holds. */
export const globalModule = "Global";

/** A model that is about to run without its `call`. */
interface AwaitedRun {
  readonly entry: ModuleEntry;
  readonly inputs: readonly Tensor[] | undefined;
  readonly around: ModuleCall | undefined;
}

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
export class ModTracker implements DispatchMode {
  private readonly recorder: TraceRecorder | undefined;
  private readonly entries = new Map<Layer, ModuleEntry>();
  private readonly scopes = new Map<string, ModuleEntry>();
  private readonly optimizers = new Set<object>();
  private readonly owned = new OwnedTensors();
  private readonly patches = new PatchSet();
  private readonly active = new Map<string, number>();
  private readonly backward: BackwardCalls;
  private hooks: UserHooks = {};
  private current: ModuleCall | undefined;
  private awaited: AwaitedRun | undefined;
  private phase: number = Phase.forward;
  private stepIsOver = false;
  private stopNaming: () => void = () => {};
  /** How deep the backward pass was when each running `gradients` began. */
  private readonly passes: number[] = [];

  constructor(options: ModTrackerOptions = {}) {
    this.recorder = options.recorder;
    this.backward = new BackwardCalls({
      enter: (call, gradients) => this.enterBackward(call, gradients),
      exit: (call, gradients) => this.exitBackward(call, gradients),
    });
  }

  /** FQNs of the modules that run now, forward or backward, and `Global`. */
  get parents(): ReadonlySet<string> {
    return new Set([globalModule, ...this.active.keys()]);
  }

  /** Whether a backward pass runs, recomputations in it included. */
  get isBackward(): boolean {
    return this.phase === Phase.backward || this.phase === Phase.recompute;
  }

  /** The module that runs now, innermost; undefined outside of all. */
  get activeModule(): TrackedModule | undefined {
    return (this.backward.innermost ?? this.current)?.entry;
  }

  /**
   * Tracks a model, or a single layer, and all layers that it is made of, until `close`. Neither its results nor its configuration change.
   * Two trackers may track one model.
   */
  track(model: Layer, options: TrackOptions = {}): TrackedModule {
    const known = this.entries.get(model);
    if (known !== undefined) return known;
    const before = new Set(this.entries.keys());
    const fqn = options.name ?? model.name;
    const root = buildEntries(model, fqn, options.grouping ?? "auto", this.entries);
    for (const [layer, entry] of this.entries) {
      if (before.has(layer)) continue;
      this.patches.patch(layer, "call", (original) => (inputs, kwargs) => {
        const tensors = isDispatching(this) ? tensorsOf(inputs) : undefined;
        const run = () => original.call(layer, inputs, kwargs);
        return tensors === undefined ? run() : this.runLayer(entry, tensors, run);
      });
      if (isContainer(layer)) this.patchRuns(entry, layer);
    }
    return root;
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
   * `model.block`). Where `fn` returns a promise the module runs until that is settled.
   *
   * @param inputs tensors that `fn` works on, for the trace
   *
   * @example
   * tracker.scope("attention", () => tf.softmax(tf.matMul(q, k, false, true)), [q, k]);
   */
  scope<T>(name: string, fn: () => T, inputs: readonly Tensor[] = []): T {
    if (!isDispatching(this)) return fn();
    const around = this.around?.entry.fqn;
    const fqn = around === undefined || name.startsWith(`${around}.`) ? name : `${around}.${name}`;
    let entry = this.scopes.get(fqn);
    if (entry === undefined) {
      entry = new ModuleEntry(fqn, "Scope", undefined, () => this.owned.of(fqn));
      this.scopes.set(fqn, entry);
    }
    return this.runModule(entry, inputs, fn);
  }

  /**
   * Tells what named scopes own: variables, and for buffers any tensors, by names that begin with the FQN of the scope that they belong to.
   *
   * @example
   * tracker.own({ "model.attention.query": query, "model.attention.key": key }, { "model.mask": mask });
   */
  own(parameters: Readonly<Record<string, Tensor>>, buffers: Readonly<Record<string, Tensor>> = {}): void {
    this.owned.add(parameters, buffers);
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

  /** The FQN of a layer, if it is tracked. */
  getKnownFqn(layer: Layer): string | undefined {
    return this.entries.get(layer)?.fqn;
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
    this.backward.note(node, this.current ?? this.backward.innermost);
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

  /** The call that a call made now is inside of: one that runs, else in the backward pass that which is differentiated. */
  private get around(): ModuleCall | undefined {
    return this.current ?? (this.isBackward ? this.backward.innermost : undefined);
  }

  private patchRuns(entry: ModuleEntry, model: Layer & { readonly layers: Layer[] }): void {
    if (!("predictLoop" in model) && !("model" in model)) return;
    patchModelRuns(
      model as never,
      (inputs, body) => {
        if (!isDispatching(this)) return body();
        const { optimizer } = model as { optimizer?: object };
        if (optimizer != null) this.trackOptimizer(optimizer);
        const { awaited, current } = this;
        this.awaited = { entry, inputs, around: current };
        try {
          return body();
        } finally {
          this.awaited = awaited;
          this.leaveTo(current);
        }
      },
      this.patches,
    );
  }

  private runLayer<T>(entry: ModuleEntry, inputs: readonly Tensor[], run: () => T): T {
    const { awaited } = this;
    const layer = entry.layer as Layer;
    // The first layer that a model calls, and again the first after it has called them all (`predict` runs batch by batch).
    if (awaited !== undefined && this.current === awaited.around && awaited.entry.plan?.layers.has(layer))
      this.enter(awaited.entry, awaited.inputs ?? inputs);
    const container = this.current?.run;
    const isPart = container?.plan.layers.has(layer) ?? false;
    if (container !== undefined && isPart)
      this.enterGroups(container, container.plan.groupsOf.get(layer) ?? [], inputs);
    const result = this.runModule(entry, inputs, run);
    if (container !== undefined && isPart) this.countCall(container, layer, tensorsOf(result) ?? []);
    return result;
  }

  private runModule<T>(entry: ModuleEntry, inputs: readonly Tensor[], run: () => T): T {
    const call = this.enter(entry, inputs);
    let result: T;
    try {
      result = run();
    } catch (error) {
      this.leave(call, []);
      throw error;
    }
    if (!(result instanceof Promise)) {
      this.leave(call, tensorsOf(result) ?? []);
      return result;
    }
    return result.then(
      (value) => {
        this.leave(call, tensorsOf(value) ?? []);
        return value;
      },
      (error: unknown) => {
        this.leave(call, []);
        throw error;
      },
    ) as T;
  }

  /** One of a container's calls is over: closes the groups in which the next is not, and after the last a model that was awaited. */
  private countCall(container: ContainerRun, layer: Layer, outputs: readonly Tensor[]): void {
    const { plan, call, groups } = container;
    container.done++;
    container.outputs = outputs;
    if (plan.outputLayers.has(layer)) container.results.set(layer, outputs);
    const next = plan.calls[container.done];
    const ended = groups.findIndex((group, i) => group.entry !== next?.groups[i]);
    if (ended >= 0) this.leaveTo(groups[ended].parent);
    const { awaited } = this;
    if (next === undefined && awaited !== undefined && call.entry === awaited.entry && call.before === awaited.around)
      this.leave(call, [...container.results.values()].flat());
  }

  private enterGroups(container: ContainerRun, wanted: readonly ModuleEntry[], inputs: readonly Tensor[]): void {
    const { groups } = container;
    const ended = groups.findIndex((group, i) => group.entry !== wanted[i]);
    if (ended >= 0) this.leaveTo(groups[ended].parent);
    for (const entry of wanted.slice(groups.length)) groups.push(this.enter(entry, inputs, container));
  }

  private enter(entry: ModuleEntry, inputs: readonly Tensor[], groupIn?: ContainerRun): ModuleCall {
    const before = this.current;
    const parent = this.around;
    if (parent === undefined) this.beginRoot();
    else parent.entry.hasPart();
    this.tell(entry);
    const traced = this.recorder?.enterCall(entry.traced, inputs, parent?.traced ?? -1) ?? -1;
    const call: ModuleCall = {
      entry,
      parent,
      before,
      depth: (parent?.depth ?? 0) + 1,
      traced,
      inputs,
      run: groupIn,
      gradients: new Map(),
    };
    const { plan } = entry;
    if (plan !== undefined) call.run = { call, plan, done: 0, groups: [], outputs: [], results: new Map() };
    this.current = call;
    this.count(entry.fqn, 1);
    this.hooks.preForward?.(entry, inputs);
    return call;
  }

  /** The first module of a step: what the last left behind is over, and what an optimizer keeps is there from the beginning. */
  private beginRoot(): void {
    if (this.stepIsOver) this.recorder?.mark(resetModStatsMark);
    this.stepIsOver = false;
    for (const optimizer of this.optimizers) this.trackOptimizer(optimizer);
    this.optimizers.clear();
  }

  /** Ends `call`, and before it whatever it has left open. */
  private leave(call: ModuleCall, outputs: readonly Tensor[]): void {
    this.leaveTo(call);
    if (this.current === call) this.leaveOne(call, outputs);
  }

  private leaveOne(call: ModuleCall, outputs: readonly Tensor[]): void {
    const { entry, run } = call;
    this.hooks.postForward?.(entry, call.inputs, outputs);
    this.tell(entry);
    this.recorder?.exitCall(call.traced, outputs);
    this.count(entry.fqn, -1);
    this.current = call.before;
    if (run?.groups.at(-1) === call) run.groups.pop();
  }

  /** Ends every call inside `call`. */
  private leaveTo(call: ModuleCall | undefined): void {
    const depth = call?.depth ?? 0;
    while (this.current !== undefined && this.current !== call && this.current.depth > depth)
      this.leaveOne(this.current, this.current.run?.outputs ?? []);
  }

  /** Makes a module and its weights known to the trace; a layer may make its weights at its first call. */
  private tell(entry: ModuleEntry): void {
    const { recorder } = this;
    if (recorder === undefined) return;
    if (entry.traced < 0) entry.traced = recorder.module(entry.recorded);
    // Weights are looked for twice: a layer may make them in its first call.
    if (entry.timesTold++ > 1) return;
    const { parameters, buffers } = entry.weights();
    if (parameters.length + buffers.length === entry.tracedWeights) return;
    entry.tracedWeights = parameters.length + buffers.length;
    recorder.moduleWeights(entry.traced, parameters, buffers);
  }

  private enterBackward(call: ModuleCall, gradients: readonly Tensor[]): void {
    this.count(call.entry.fqn, 1);
    this.recorder?.enterBackward(call.traced, gradients);
    this.hooks.preBackward?.(call.entry, gradients);
  }

  private exitBackward(call: ModuleCall, gradients: readonly Tensor[]): void {
    this.hooks.postBackward?.(call.entry, gradients);
    this.recorder?.exitBackward(call.traced, gradients);
    this.count(call.entry.fqn, -1);
  }

  private count(fqn: string, change: number): void {
    const count = (this.active.get(fqn) ?? 0) + change;
    if (count < 0)
      throw new RematError("MODULE_ORDER", `module '${fqn}' ended more often than it began; please report this`);
    if (count === 0) this.active.delete(fqn);
    else this.active.set(fqn, count);
  }
}
