import { Category, categoryNames, Phase, type Trace, TraceBuilder } from "@remat/trace";
import fc from "fast-check";

/** One thing that happens; numbers choose among what is possible at that moment. */
export type Action = readonly [
  "allocate" | "free" | "resize" | "categorize" | "op" | "enter" | "exit" | "enterBackward" | "exitBackward",
  number,
  number,
];

export const actions: fc.Arbitrary<Action[]> = fc.array(
  fc.tuple(
    fc.constantFrom<Action[0]>(
      ...(["allocate", "allocate", "allocate", "free", "free", "resize", "categorize"] as const),
      ...(["op", "op", "op", "enter", "exit", "enterBackward", "exitBackward"] as const),
    ),
    fc.nat(1 << 20),
    fc.nat(5000),
  ),
  { minLength: 12, maxLength: 120 },
);

export const devices: readonly string[] = ["cuda:0", "cuda:1", "cpu"];

/** Writes a valid trace from actions, skipping what cannot happen; `onStep` sees the builder after each. */
export function traceOf(steps: readonly Action[], onStep: (builder: TraceBuilder) => void = () => {}): Trace {
  const b = new TraceBuilder({ framework: "pytorch", device: "cuda:0", mode: "fake", allocationUnitBytes: 512 });
  const modules = ["net", "net.a", "net.a.b", "net.c"].map((fqn) => b.module({ fqn, kind: "M", leaf: false }));
  const live: number[] = [];
  const open: number[] = [];
  const called: number[] = [];
  const backward: number[] = [];
  let made: number[] = [];
  for (const [kind, n, size] of steps) {
    const some = <T>(items: readonly T[]): T => items[n % items.length];
    if (kind === "allocate") {
      const storage = b.allocate(size, some(devices), n % categoryNames.length);
      live.push(storage);
      made.push(b.tensor({ storage, dtype: "uint8", shape: [size] }));
    } else if (kind === "op") {
      const phase = some([Phase.forward, Phase.backward, Phase.recompute, Phase.optimizer]);
      b.op({ name: `op${n % 7}`, phase, stack: b.stack([...new Set([...open, ...backward])]), outputs: made });
      made = [];
    } else if (kind === "enter" && open.length < 4) {
      const call = b.call(open.length === 0 ? modules[0] : some(modules.slice(1)), open.at(-1) ?? -1, true);
      // A second outermost call would be a second iteration.
      if (open.length === 0 && called.length > 0) b.mark("resetModStats");
      open.push(call);
      b.enterModule(call);
    } else if (kind === "exit" && open.length > 0) {
      const call = open.pop() as number;
      b.exitModule(call);
      called.push(call);
    } else if (kind === "enterBackward" && open.length > 0) {
      // For an open call: calls from before a reset are no longer known.
      const call = some(open);
      b.enterModule(call, Phase.backward);
      backward.push(call);
    } else if (kind === "exitBackward" && backward.length > 0 && open.includes(backward[backward.length - 1])) {
      b.exitModule(backward.pop() as number, Phase.backward);
    } else if (live.length > 0) {
      const at = n % live.length;
      if (kind === "free") b.free(live.splice(at, 1)[0]);
      else if (kind === "resize") b.resize(live[at], size);
      else if (kind === "categorize") b.categorize(live[at], size % Object.keys(Category).length);
    }
    onStep(b);
  }
  return b.build();
}
