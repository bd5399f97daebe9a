import { Category, Phase, RuntimeSource, type Trace, TraceBuilder } from "@remat/trace";

/** Number and names of a degenerate trace's modules. */
const moduleKinds = ["none", "without ops", "with an odd name", "nested"] as const;
/** Its ops, in order. */
const stepKinds = ["no op", "one op", "forward only", "backward only", "a whole step"] as const;
/** Its storages. */
const storageKinds = ["0 bytes", "1 byte", "0 bytes and 1", "no storage", "never freed", "on another device"] as const;
/** Times of its ops. */
const timeKinds = ["unmeasured", "0 ms", "1 ms"] as const;

interface Shape {
  readonly modules: (typeof moduleKinds)[number];
  readonly step: (typeof stepKinds)[number];
  readonly storages: (typeof storageKinds)[number];
  readonly times: (typeof timeKinds)[number];
}

/** A trace with its description, for the name of a test. */
export interface NamedTrace {
  readonly name: string;
  readonly trace: Trace;
}

/**
 * Traces of extreme steps: no ops, no modules, modules called `.`, storages of 0 bytes, times of 0 ms, memory that is
 * never freed, and every combination of these. Every view, command and format has to show all of them.
 *
 * @example
 * it.each(degenerateTraces())("$name", ({ trace }) => expect(() => summarizeMemory(trace)).not.toThrow());
 */
export function degenerateTraces(): NamedTrace[] {
  return moduleKinds.flatMap((modules) =>
    stepKinds.flatMap((step) =>
      storageKinds.flatMap((storages) =>
        timeKinds
          // Without ops there are no times.
          .filter((times) => step !== "no op" || times === "unmeasured")
          .map((times) => ({
            name: `${step}, modules: ${modules}, storages: ${storages}, times: ${times}`,
            trace: degenerateTrace({ modules, step, storages, times }),
          })),
      ),
    ),
  );
}

/**
 * A sample of {@link degenerateTraces} in which every two properties occur together at least once, for slow checks.
 *
 * @example
 * for (const { trace } of degenerateSample()) renderReport(await makeReport(trace));
 */
export function degenerateSample(): NamedTrace[] {
  const rest = degenerateTraces().map((trace) => ({ trace, pairs: pairsOf(trace.name.split(", ")) }));
  const met = new Set<string>();
  const sample: NamedTrace[] = [];
  for (;;) {
    let best = rest[0];
    let most = 0;
    for (const candidate of rest) {
      const count = candidate.pairs.filter((pair) => !met.has(pair)).length;
      if (count > most) [best, most] = [candidate, count];
    }
    if (most === 0) return sample;
    sample.push(best.trace);
    for (const pair of best.pairs) met.add(pair);
  }
}

const pairsOf = (parts: readonly string[]): string[] =>
  parts.flatMap((part, i) => parts.slice(i + 1).map((other) => `${part} with ${other}`));

function degenerateTrace({ modules, step, storages, times }: Shape): Trace {
  const b = new TraceBuilder({
    framework: "tfjs",
    device: "cpu",
    mode: times === "unmeasured" ? "fake" : "real",
    allocationUnitBytes: 1,
    // A model without a name, as in a program's own step.
    ...(modules !== "none" && { model: modules === "with an odd name" ? "" : "net" }),
  });
  const calls = callsOf(b, modules);
  const stack = b.stackOfCall(modules === "without ops" ? -1 : (calls.at(-1) ?? -1));
  const made: number[] = [];
  const tensors: number[] = [];
  const bytesOf = (i: number): number => (storages === "1 byte" || (storages === "0 bytes and 1" && i === 1) ? 1 : 0);
  for (const [i, phase] of phasesOf[step].entries()) {
    const outputs: number[] = [];
    if (storages !== "no storage") {
      const bytes = bytesOf(i);
      const storage = b.allocate(bytes, storages === "on another device" ? "gpu" : "cpu", Category.activation);
      made.push(storage);
      outputs.push(b.tensor({ storage, dtype: "uint8", shape: bytes === 0 ? [0, 250] : [1] }));
    }
    const op = b.op({
      name: "Relu",
      phase,
      stack,
      inputs: tensors.slice(-1),
      outputs,
      ...(phase === Phase.backward && i > 0 && { forwardOp: 0 }),
      ...(times !== "unmeasured" && { runtimeMs: times === "0 ms" ? 0 : 1, runtimeSource: RuntimeSource.measured }),
    });
    if (phase === Phase.forward && made.length > 0) b.save(made[made.length - 1], op);
    tensors.push(...outputs);
  }
  if (step === "no op" && storages !== "no storage") made.push(b.allocate(bytesOf(0)), b.allocate(bytesOf(1)));
  if (storages !== "never freed") for (const storage of made) b.free(storage);
  return b.build();
}

const phasesOf: Readonly<Record<Shape["step"], readonly number[]>> = {
  "no op": [],
  "one op": [Phase.forward],
  "forward only": [Phase.forward, Phase.forward],
  "backward only": [Phase.backward, Phase.backward],
  "a whole step": [Phase.forward, Phase.forward, Phase.backward, Phase.backward],
};

function callsOf(b: TraceBuilder, modules: Shape["modules"]): number[] {
  const enter = (fqn: string, kind: string, parent: number, leaf: boolean): number =>
    b.call(b.module({ fqn, kind, leaf }), parent, true);
  switch (modules) {
    case "none":
      return [];
    case "without ops":
      return [enter("net", "Model", -1, true)];
    case "with an odd name":
      return [enter(".", "", -1, true)];
    case "nested": {
      const root = enter("net", "Model", -1, false);
      return [root, enter("net.block", "Block", root, true)];
    }
  }
}
