import { heldPeak } from "@remat/memory";
import {
  bytesPerElement,
  Category,
  elementsOf,
  isPlanNode,
  type Occurrence,
  Phase,
  type Plan,
  type PlanOp,
  type TensorType,
  type Trace,
  TraceBuilder,
} from "@remat/trace";

/**
 * Reconstructs the run under a plan as far as the plan contains it: its ops with their modules, recomputation, and
 * frees. Sizes are computed from the shapes of outputs. Weights, inputs and scratch memory are part of a plan's peak
 * but not of its steps. They become one storage of category `other` that lives all the time. A plan does not contain
 * the time of single ops.
 */
export function planAsTrace(plan: Plan): Trace {
  const listed = new PlanReplay(plan, 0).run();
  const unlistedBytes = plan.predicted.peakBytes - heldPeak(listed).peakBytes;
  return unlistedBytes > 0 ? new PlanReplay(plan, unlistedBytes).run() : listed;
}

const notes = [
  "Made from a plan alone: sizes follow from the shapes in the plan. " +
    "Unlisted memory (weights, inputs, scratch memory of kernels) fills the rest of its peak and is always live. " +
    "Ops have no times. To see them, name the run and compare it with the plan.",
];

class PlanReplay {
  private readonly plan: Plan;
  private readonly unlistedBytes: number;
  private readonly builder: TraceBuilder;
  private readonly stacks = new Map<string, number>();
  private readonly modules = new Map<string, number>();
  /** Storages alive, by `op:output`. */
  private readonly alive = new Map<string, number>();
  /** Outputs that the plan frees at some point. The others are views, or results that stay. */
  private readonly managed: ReadonlySet<string>;

  constructor(plan: Plan, unlistedBytes: number) {
    const { subject } = plan;
    this.plan = plan;
    this.unlistedBytes = unlistedBytes;
    this.builder = new TraceBuilder({
      framework: subject.framework ?? "graph",
      device: subject.device ?? "device",
      mode: "fake",
      allocationUnitBytes: 1,
      model: subject.name,
      ...(subject.backend !== undefined && { backend: subject.backend }),
      notes,
    });
    this.managed = new Set(
      plan.steps.flatMap(({ free, offload = [] }) =>
        [...free, ...offload].flatMap((value) => ("op" in value ? [`${value.op}:${value.output}`] : [])),
      ),
    );
  }

  run(): Trace {
    const { plan, builder } = this;
    const sources = plan.sources.map(() => -1);
    if (this.unlistedBytes > 0) builder.allocate(this.unlistedBytes, builder.header.device, Category.other);
    let next = 0;
    for (const { op, isRecomputed, free, offload = [], reload = [] } of plan.steps) {
      for (; next < plan.sources.length && plan.sources[next].before <= op; next++)
        sources[next] = builder.allocate(plan.sources[next].bytes, builder.header.device, Category.temporary);
      const planned = occurrenceOf(plan.ops[op]);
      const phase = Phase[planned.phase];
      const outputs = planned.outputs.flatMap(({ dtype, shape }, output) => {
        const key = `${op}:${output}`;
        if (!this.managed.has(key)) return [];
        const storage = this.allocate(key, phase, { dtype, shape });
        return [builder.tensor({ storage, dtype, shape })];
      });
      builder.op({
        name: planned.kernel,
        phase: isRecomputed ? Phase.recompute : phase,
        stack: this.stackOf(planned),
        outputs,
      });
      for (const value of [...free, ...offload]) {
        if ("op" in value) this.free(`${value.op}:${value.output}`);
        else if (sources[value.source] >= 0) builder.free(sources[value.source]);
      }
      for (const value of reload) if ("op" in value) this.reload(value);
    }
    return builder.build();
  }

  private allocate(key: string, phase: number, { dtype, shape }: TensorType): number {
    const { builder, alive } = this;
    this.free(key);
    const bytes = (bytesPerElement(dtype) ?? 1) * elementsOf(shape);
    const category = phase === Phase.forward ? Category.activation : Category.temporary;
    const storage = builder.allocate(bytes, builder.header.device, category);
    alive.set(key, storage);
    return storage;
  }

  /** A reload creates a new storage on the device. Only its size is known. */
  private reload({ op, output }: { readonly op: number; readonly output: number }): void {
    const { phase, outputs } = occurrenceOf(this.plan.ops[op]);
    this.allocate(`${op}:${output}`, Phase[phase], outputs[output]);
  }

  private free(key: string): void {
    const storage = this.alive.get(key);
    if (storage !== undefined) this.builder.free(storage);
    this.alive.delete(key);
  }

  private stackOf({ module: fqn, call }: Occurrence): number {
    if (fqn === undefined) return 0;
    const key = `${fqn}[${call}]`;
    let stack = this.stacks.get(key);
    if (stack === undefined) {
      let parent = -1;
      // Surrounding modules, derived from the names.
      for (let dot = fqn.indexOf("."); dot > 0; dot = fqn.indexOf(".", dot + 1))
        parent = this.callOf(fqn.slice(0, dot), 0, parent);
      stack = this.builder.stackOfCall(this.callOf(fqn, call, parent));
      this.stacks.set(key, stack);
    }
    return stack;
  }

  private readonly calls = new Map<string, number>();
  private callOf(fqn: string, number: number, parent: number): number {
    const key = `${fqn}[${number}]`;
    let call = this.calls.get(key);
    if (call === undefined) {
      let module = this.modules.get(fqn);
      if (module === undefined) {
        module = this.builder.module({ fqn, kind: "Module", leaf: false });
        this.modules.set(fqn, module);
      }
      call = this.builder.call(module, parent, true);
      this.calls.set(key, call);
    }
    return call;
  }
}

/** A node of a graph as an op. Only the bytes of its output are known. */
function occurrenceOf(op: PlanOp): Occurrence {
  if (!isPlanNode(op)) return op;
  const outputs = op.outputBytes.map((bytes) => ({ dtype: "uint8", shape: [Math.round(bytes)] }));
  return { module: undefined, call: 0, phase: "forward", kernel: op.name, ordinal: 0, outputs };
}
