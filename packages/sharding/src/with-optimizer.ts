import {
  Category,
  elementsOf,
  OpFlag,
  type OpIndex,
  Phase,
  RematError,
  type StorageIndex,
  type Trace,
} from "@remat/trace";
import { EventCopy } from "./event-copy.js";
import { type KeptState, recordedOptimizers, type TorchOptimizer, torchOptimizers } from "./optimizer-states.js";
import { type RecordedUpdates, recordedUpdates } from "./recorded-updates.js";
import { elementBytes, isFloatDtype } from "./sharding-plan.js";

/**
 * Returns a PyTorch run as it would be with another optimizer that updates the same parameters at the same times.
 *
 * The state, temporaries and ops of the recorded optimizer are left out. The state of the new optimizer is added when
 * the recorded state was created: at the start or at the first update. For the run's own optimizer it returns the run
 * itself.
 *
 * @throws RematError `TRACE_OPTIMIZER` for an unknown optimizer, for one that does not fit the run, or for a run
 * without an update
 * @example
 * heldPeak(withOptimizer(trace, "adamw8bit")).peakBytes;
 */
export function withOptimizer(trace: Trace, name: string): Trace {
  const { header } = trace;
  const run = header.model ?? "the run";
  const reason = refusesRecordedOptimizer(name, { framework: header.framework, run });
  if (reason !== undefined) throw cannot(reason);
  const own = recordedOptimizers[name];
  const other = torchOptimizers.find((each) => each.name === name);
  const recorded = recordedUpdates(trace);
  const { updates, statesPerParameter, opNames } = recorded;
  if (updates.every(({ parameters }) => parameters.length === 0))
    throw cannot(`${run} updates no parameters, so --optimizer ${name} has no effect. Record it with its optimizer`);
  if (other === undefined) {
    const { states, ops } = own;
    if (statesPerParameter === states && (ops === undefined || [...opNames].some((op) => ops.test(op)))) return trace;
    throw cannot(
      `${run} was not recorded with ${name}: its optimizer keeps ${describeStates(statesPerParameter)} of each parameter. Record it with ${name}, or remove --optimizer`,
    );
  }
  return new OtherOptimizer(trace, other, recorded).whole();
}

/**
 * Returns the reason why a recorded run cannot be predicted with an optimizer of that name. Returns undefined if no
 * reason is known. {@link withOptimizer} can still reject the optimizer because of the recorded updates.
 */
export function refusesRecordedOptimizer(
  name: string,
  { framework, run }: { readonly framework: string; readonly run: string },
): string | undefined {
  if (framework !== "pytorch")
    return `--optimizer ${name} cannot change ${run}, a recorded run of ${framework}. Remove it, or name the model instead`;
  return torchOptimizerNames().includes(name)
    ? undefined
    : `unknown optimizer ${JSON.stringify(name)} for a recorded run. Use one of ${torchOptimizerNames().join(", ")}`;
}

/** Returns the names of the optimizers that a recorded run can be predicted with. */
export function torchOptimizerNames(): readonly string[] {
  return [...Object.keys(recordedOptimizers), ...torchOptimizers.map(({ name }) => name)];
}

/** Returns the Python code that creates a replacement optimizer, or undefined for other names. */
export function torchOptimizerCode(name: string): string | undefined {
  return torchOptimizers.find((each) => each.name === name)?.code;
}

function describeStates(states: number): string {
  return states === 0 ? "no tensor of the shape" : `${Number(states.toFixed(2))} tensors of the shape`;
}

function cannot(reason: string): RematError {
  return new RematError("TRACE_OPTIMIZER", reason);
}

/** Writes the run with the updates of another optimizer. */
class OtherOptimizer extends EventCopy {
  private readonly optimizer: TorchOptimizer;
  private readonly recorded: RecordedUpdates;
  /** For each parameter, the tensors of its state. */
  private readonly kept = new Map<number, readonly number[]>();
  private shared: readonly number[] | undefined;
  private update = 0;

  constructor(trace: Trace, optimizer: TorchOptimizer, recorded: RecordedUpdates) {
    super(trace, [`As if it were updated by ${optimizer.code}; it was recorded with another optimizer.`]);
    this.optimizer = optimizer;
    this.recorded = recorded;
    for (const { parameters } of recorded.updates)
      for (const { tensor } of parameters) {
        const dtype = trace.tensorDtype(tensor);
        if (!isFloatDtype(dtype))
          throw cannot(
            `${optimizer.code} does not support parameters of ${dtype}, which ${trace.header.model ?? "the run"} has. Choose another optimizer`,
          );
      }
  }

  whole(): Trace {
    const { recorded, trace } = this;
    if (recorded.beginsWithState)
      for (const { parameters } of recorded.updates) for (const { tensor } of parameters) this.keep(tensor);
    this.write(0, trace.events.count);
    return this.build();
  }

  protected override allocate(storage: StorageIndex): void {
    if (this.recorded.isOptimizers[storage] === 0) super.allocate(storage);
  }

  protected override op(op: OpIndex): void {
    if (this.trace.ops.phase[op] !== Phase.optimizer) {
      super.op(op);
      return;
    }
    const next = this.recorded.updates[this.update];
    if (next?.firstOp !== op) return;
    this.update++;
    for (const { tensor, gradient } of next.parameters) {
      const states = this.keep(tensor);
      const [parameter] = this.tensors(Int32Array.of(tensor));
      this.copy.builder.op({
        name: this.optimizer.op,
        phase: Phase.optimizer,
        flags: OpFlag.inPlace,
        inputs: [parameter, ...(gradient < 0 ? [] : this.tensors(Int32Array.of(gradient))), ...states],
        outputs: [parameter],
      });
    }
  }

  /** Returns the tensors of a parameter's state, and creates them if none exist. */
  private keep(parameter: number): readonly number[] {
    const known = this.kept.get(parameter);
    if (known !== undefined) return known;
    const { trace, optimizer } = this;
    const { strings, storages, tensors } = trace;
    const device = strings[storages.device[tensors.storage[parameter]]];
    const shape = trace.tensorShape(parameter);
    const states = optimizer.kept(shape, elementsOf(shape));
    const made = states.map((state) => this.make(state, device));
    if (states.some(({ dtype }) => dtype !== "float32")) {
      this.shared ??= optimizer.shared.map((state) => this.make(state, device));
      made.push(...this.shared);
    }
    this.kept.set(parameter, made);
    return made;
  }

  private make({ dtype, shape }: KeptState, device: string): number {
    const { builder } = this.copy;
    const storage = builder.allocate(elementsOf(shape) * elementBytes(dtype), device, Category.optimizerState);
    return builder.tensor({ storage, dtype, shape });
  }
}
