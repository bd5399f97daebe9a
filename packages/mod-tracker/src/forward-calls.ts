import type { Tensor } from "@tensorflow/tfjs-core";
import { type Layer, tensorsOf } from "./layer-internals.js";
import { type ContainerRun, chainOf, type ModuleCall } from "./module-call.js";
import type { ModuleEntry } from "./module-entry.js";

/** A model that is about to run without its `call`. */
interface AwaitedRun {
  readonly entry: ModuleEntry;
  readonly inputs: readonly Tensor[] | undefined;
  readonly around: ModuleCall | undefined;
}

interface ForwardListener {
  /** A call begins. Returns its index in the trace, or -1. */
  entering(entry: ModuleEntry, inputs: readonly Tensor[], parent: ModuleCall | undefined): number;
  entered(call: ModuleCall): void;
  leaving(call: ModuleCall, outputs: readonly Tensor[]): void;
  /**
   * Returns the parent of a call made while no other call runs. In the backward pass this is the differentiated call.
   */
  around(): ModuleCall | undefined;
}

/**
 * Tracks the nested module calls of the forward pass: layers and scopes as they are called, groups around their layers,
 * and models that TensorFlow.js runs without their `call`.
 *
 * @internal
 */
export class ForwardCalls {
  /** The innermost call. */
  current: ModuleCall | undefined;
  private awaited: AwaitedRun | undefined;
  /** The call whose function is running, which contains calls entered by name. */
  running: ModuleCall | undefined;
  private readonly listener: ForwardListener;

  constructor(listener: ForwardListener) {
    this.listener = listener;
  }

  /** Runs `body`, in which the model `entry` runs once or several times, each from its first layer to its last. */
  runModel<T>(entry: ModuleEntry, inputs: readonly Tensor[] | undefined, body: () => T): T {
    const { awaited, current } = this;
    this.awaited = { entry, inputs, around: current };
    try {
      return body();
    } finally {
      this.awaited = awaited;
      this.leaveTo(current);
    }
  }

  runLayer<T>(entry: ModuleEntry, inputs: readonly Tensor[], run: () => T): T {
    const { awaited } = this;
    const layer = entry.layer as Layer;
    // This is the first layer that a model calls. It comes again after all of them, because `predict` runs batch by
    // batch.
    if (awaited !== undefined && this.current === awaited.around && awaited.entry.plan?.layers.has(layer))
      this.enter(awaited.entry, awaited.inputs ?? inputs);
    const container = this.current?.run;
    if (!container?.plan.layers.has(layer)) return this.runModule(entry, inputs, run);
    this.enterGroups(container, container.plan.groupsOf.get(layer) ?? [], inputs);
    const result = this.runModule(entry, inputs, run);
    this.countCall(container, layer, tensorsOf(result) ?? []);
    return result;
  }

  runModule<T>(entry: ModuleEntry, inputs: readonly Tensor[], run: () => T): T {
    const { running } = this;
    const call = this.enter(entry, inputs);
    this.running = call;
    const end = (outputs: readonly Tensor[]): void => {
      this.running = running;
      this.leave(call, outputs);
    };
    let result: T;
    let isDone = false;
    try {
      result = run();
      isDone = true;
    } finally {
      if (!isDone) end([]);
    }
    if (!(result instanceof Promise)) {
      end(tensorsOf(result) ?? []);
      return result;
    }
    return result.then(
      (value) => {
        end(tensorsOf(value) ?? []);
        return value;
      },
      (error: unknown) => {
        end([]);
        throw error;
      },
    ) as T;
  }

  /**
   * Leaves open calls inside the running function, except for those that match the start of `wanted`, and enters the
   * rest of `wanted`.
   */
  moveTo(wanted: readonly ModuleEntry[]): void {
    const open = chainOf(this.current).filter(({ depth }) => depth > (this.running?.depth ?? 0));
    let common = 0;
    while (common < open.length && open[common]?.entry === wanted[common]) common++;
    this.leaveTo(common === 0 ? this.running : open[common - 1]);
    for (const entry of wanted.slice(common)) this.enter(entry, []);
  }

  private enter(entry: ModuleEntry, inputs: readonly Tensor[], groupIn?: ContainerRun): ModuleCall {
    const before = this.current;
    const parent = before ?? this.listener.around();
    const call: ModuleCall = {
      entry,
      parent,
      before,
      depth: (parent?.depth ?? 0) + 1,
      traced: this.listener.entering(entry, inputs, parent),
      inputs,
      run: groupIn,
      gradients: new Map(),
    };
    const { plan } = entry;
    // The layers of an inlined model are calls of the container around it.
    if (plan !== undefined && groupIn === undefined)
      call.run = { call, plan, done: 0, groups: [], outputs: [], results: new Map() };
    this.current = call;
    this.listener.entered(call);
    return call;
  }

  private enterGroups(container: ContainerRun, wanted: readonly ModuleEntry[], inputs: readonly Tensor[]): void {
    const { groups } = container;
    this.leaveGroups(container, wanted);
    for (const entry of wanted.slice(groups.length)) groups.push(this.enter(entry, inputs, container));
  }

  private leaveGroups({ groups }: ContainerRun, wanted: readonly ModuleEntry[]): void {
    const ended = groups.find((group, i) => group.entry !== wanted[i]);
    if (ended !== undefined) this.leaveTo(ended.parent);
  }

  /**
   * Ends one of a container's calls: closes the groups that the next call is not in and, after the last call, an
   * awaited model.
   */
  private countCall(container: ContainerRun, layer: Layer, outputs: readonly Tensor[]): void {
    const { plan, call } = container;
    container.done++;
    container.outputs = outputs;
    if (plan.outputLayers.has(layer)) container.results.set(layer, outputs);
    const next = plan.calls[container.done];
    this.leaveGroups(container, next?.groups ?? []);
    const { awaited } = this;
    if (next === undefined && awaited !== undefined && call.entry === awaited.entry && call.before === awaited.around)
      this.leave(call, [...container.results.values()].flat());
  }

  /** Ends `call`, and before it all calls that are still open inside. */
  private leave(call: ModuleCall, outputs: readonly Tensor[]): void {
    this.leaveTo(call);
    if (this.current === call) this.leaveInnermost(call, outputs);
  }

  /** Ends every call inside `call`. */
  private leaveTo(call: ModuleCall | undefined): void {
    const depth = call?.depth ?? 0;
    while (this.current !== undefined && this.current !== call && this.current.depth > depth)
      this.leaveInnermost(this.current, this.current.run?.outputs ?? []);
  }

  private leaveInnermost(call: ModuleCall, outputs: readonly Tensor[]): void {
    this.listener.leaving(call, outputs);
    this.current = call.before;
    const groups = call.run?.groups;
    if (groups?.at(-1) === call) groups.pop();
  }
}
