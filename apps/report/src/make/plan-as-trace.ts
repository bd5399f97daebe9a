import { bytesPerElement, Category, Phase, type Plan, phaseNames, type Trace, TraceBuilder } from "@remat/trace";

/**
 * A run that follows a plan, as far as the plan itself tells: its ops with their modules, what runs again, and what is let go of when. Sizes
 * come from shapes in the names; weights, scratch memory and the time of single ops are not in a plan.
 */
export function planAsTrace(plan: Plan): Trace {
  return new PlanReplay(plan).run();
}

const notes = [
  "Made from a plan alone: sizes are those of shapes in the plan's names, without weights and what kernels work with; ops have no times of their own. For those, name the run and compare it with the plan.",
];

interface NamedOp {
  readonly fqn: string;
  readonly call: number;
  readonly phase: number;
  readonly kernel: string;
  readonly outputs: readonly { readonly dtype: string; readonly shape: readonly number[] }[];
}

class PlanReplay {
  private readonly plan: Plan;
  private readonly builder: TraceBuilder;
  private readonly stacks = new Map<string, number>();
  private readonly modules = new Map<string, number>();
  /** Storages alive, by `op:output`. */
  private readonly alive = new Map<string, number>();
  /** Outputs that the plan ever lets go of: the others are views, or results that stay. */
  private readonly managed: ReadonlySet<string>;

  constructor(plan: Plan) {
    const { subject } = plan;
    this.plan = plan;
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
      plan.steps.flatMap(({ drop }) => drop.flatMap((value) => ("op" in value ? [`${value.op}:${value.output}`] : []))),
    );
  }

  run(): Trace {
    const { plan, builder } = this;
    const ops = plan.ops.map((name) => (plan.subject.kind === "trace" ? parseOccurrence(name) : parseNode(name)));
    const sources = plan.sources.map(() => -1);
    let next = 0;
    for (const { op, isAgain, drop } of plan.steps) {
      for (; next < plan.sources.length && plan.sources[next].before <= op; next++)
        sources[next] = builder.allocate(plan.sources[next].bytes, builder.header.device, Category.temporary);
      const named = ops[op];
      const outputs = named.outputs.flatMap(({ dtype, shape }, output) => {
        const key = `${op}:${output}`;
        if (!this.managed.has(key)) return [];
        this.free(key);
        const bytes = (bytesPerElement(dtype) ?? 1) * shape.reduce((product, size) => product * size, 1);
        const category = named.phase === Phase.forward ? Category.activation : Category.temporary;
        const storage = builder.allocate(bytes, builder.header.device, category);
        this.alive.set(key, storage);
        return [builder.tensor({ storage, dtype, shape })];
      });
      builder.op({
        name: named.kernel,
        phase: isAgain ? Phase.recompute : named.phase,
        stack: this.stackOf(named),
        outputs,
      });
      for (const value of drop) {
        if ("op" in value) this.free(`${value.op}:${value.output}`);
        else if (sources[value.source] >= 0) builder.free(sources[value.source]);
      }
    }
    return builder.build();
  }

  private free(key: string): void {
    const storage = this.alive.get(key);
    if (storage !== undefined) this.builder.free(storage);
    this.alive.delete(key);
  }

  private stackOf({ fqn, call }: NamedOp): number {
    if (fqn === "") return 0;
    const key = `${fqn}[${call}]`;
    let stack = this.stacks.get(key);
    if (stack === undefined) {
      let parent = -1;
      // Modules around it, as names tell.
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

/** `layers.0[1] forward BatchMatMul 3: float32[8,12] int32[]` as it was put together (trace rule T9). */
function parseOccurrence(name: string): NamedOp {
  const match = /^(?:-|(.*)\[(\d+)\]) ([a-z]+) (.*) (\d+): ?(.*)$/s.exec(name);
  const phase = phaseNames.indexOf((match?.[3] ?? "forward") as (typeof phaseNames)[number]);
  return {
    fqn: match?.[1] ?? "",
    call: Number(match?.[2] ?? 0),
    phase: Math.max(0, phase),
    kernel: match?.[4] ?? name,
    outputs: Array.from((match?.[6] ?? "").matchAll(/(\S+?)\[([\d,]*)\]/g), ([, dtype, shape]) => ({
      dtype,
      shape: shape === "" ? [] : shape.split(",").map(Number),
    })),
  };
}

/** `conv1 (0,3): 4096,8 bytes, cost 2`: a node of a graph file. */
function parseNode(name: string): NamedOp {
  const match = /^(.*) \([\d,]*\): ([\d.,]*) bytes, cost .*$/s.exec(name);
  const sizes = (match?.[2] ?? "").split(",").filter((size) => size !== "");
  return {
    fqn: "",
    call: 0,
    phase: Phase.forward,
    kernel: match?.[1] ?? name,
    outputs: sizes.map((size) => ({ dtype: "uint8", shape: [Math.round(Number(size))] })),
  };
}
