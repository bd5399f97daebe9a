import { OpFlag, Phase, type Trace, TraceBuilder } from "@remat/trace";
import fc from "fast-check";

/** An op of a run: which storages its results are in, and what it is. */
export interface RunOp {
  readonly kind: "op";
  readonly name: string;
  readonly outputs: readonly number[];
  readonly flags: number;
  readonly runtimeMs: number;
  readonly backward: boolean;
}

export type RunStep =
  | RunOp
  | { readonly kind: "enter"; readonly fqn: string; readonly leaf: boolean; readonly tensorInput: boolean }
  | { readonly kind: "exit"; readonly fqn: string }
  | { readonly kind: "save"; readonly storage: number };

/** Events of a forward pass, in order. */
export interface Run {
  readonly storageBytes: readonly number[];
  readonly steps: readonly RunStep[];
}

const flagSets = [0, 0, 0, OpFlag.inPlace, OpFlag.inPlace, OpFlag.view, OpFlag.random, OpFlag.sacSkip];
flagSets.push(OpFlag.inPlace | OpFlag.view, OpFlag.inPlace | OpFlag.random, OpFlag.view | OpFlag.sacSkip);
const modules = ["Net", "Net.a", "Net.b", "Net.a.c"];

/** Runs with nested modules, some called again, and ops that share, reuse and combine storages. */
export const randomRun: fc.Arbitrary<Run> = fc
  .record({
    storageBytes: fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 1, maxLength: 6 }),
    choices: fc.array(fc.array(fc.nat(1000), { minLength: 5, maxLength: 5 }), { minLength: 15, maxLength: 60 }),
  })
  .map(({ storageBytes, choices }) => {
    const steps: RunStep[] = [];
    const open: string[] = [];
    for (const [choice, a, b, c, d] of choices) {
      const fqn = open.length === 0 ? "Net" : modules[a % 4];
      if ((choice % 8 === 0 || open.length === 0) && !open.includes(fqn)) {
        steps.push({ kind: "enter", fqn, leaf: fqn === "Net.b", tensorInput: b % 2 === 0 });
        open.push(fqn);
      } else if (choice % 8 === 1 && open.length > 0) steps.push({ kind: "exit", fqn: open.pop() as string });
      else if (choice % 8 === 2) steps.push({ kind: "save", storage: a % storageBytes.length });
      else
        steps.push({
          kind: "op",
          name: `aten.${["mm", "add_", "t"][b % 3]}.default`,
          outputs: [a, b, c].slice(0, choice % 4).map((value) => value % storageBytes.length),
          flags: flagSets[c % flagSets.length],
          // Few different times, so that there are ties.
          runtimeMs: (d % 4) * 0.25,
          backward: d % 11 === 0,
        });
    }
    while (open.length > 0) steps.push({ kind: "exit", fqn: open.pop() as string });
    return { storageBytes, steps };
  });

export function traceOf(run: Run): Trace {
  const b = new TraceBuilder({ framework: "pytorch", device: "cuda:0", mode: "fake", allocationUnitBytes: 512 });
  const tensors = run.storageBytes.map((bytes) =>
    b.tensor({ storage: b.allocate(bytes), dtype: "float32", shape: [Math.floor(bytes / 4)] }),
  );
  const ids = new Map<string, number>();
  const open: number[] = [];
  for (const step of run.steps) {
    if (step.kind === "enter") {
      let module = ids.get(step.fqn);
      if (module === undefined) ids.set(step.fqn, (module = b.module({ fqn: step.fqn, kind: "M", leaf: step.leaf })));
      open.push(b.call(module, open.at(-1) ?? -1, step.tensorInput));
      b.enterModule(open[open.length - 1]);
    } else if (step.kind === "exit") b.exitModule(open.pop() as number);
    else if (step.kind === "save") b.save(step.storage);
    else
      b.op({
        name: step.name,
        outputs: step.outputs.map((storage) => tensors[storage]),
        flags: step.flags,
        phase: step.backward ? Phase.backward : Phase.forward,
        stack: b.stackOfCall(open.at(-1) ?? -1),
        runtimeMs: step.runtimeMs,
      });
  }
  return b.build();
}
