import { openDispatchMode, withDispatchMode } from "@remat/dispatch-hook";
import { planCheckpointing, simulateSchedule } from "@remat/planner";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { gradientsEndMark, gradientsStartMark, type Plan } from "@remat/trace";
import { TraceRecorder } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { Executor } from "../../src/executor/executor.js";
import {
  applyPlan,
  BudgetError,
  type BudgetExecution,
  MemoryMeter,
  releaseEarly,
  withMemoryBudget,
} from "../../src/index.js";
import { loadPlanner } from "../../src/planning-thread.js";
import { EvictingPolicy } from "../executor/evict-all.js";
import { seeded } from "../training.js";

// The loader of sources in tests draws names from Math.random, so it must not run in the middle of a seeded program.
await loadPlanner();

/** Actions of a user's program other than training. */
export interface Session {
  /** Keeps what the program has seen, to the bit. */
  note(name: string, ...seen: unknown[]): void;
  /** Between steps: a plan may be made meanwhile. */
  pause(): Promise<void>;
  /** How much there is more than in the beginning, as `tf.memory()` counts. */
  memory(): readonly number[];
}

/** A program as users write it: it disposes of what it makes. */
export type Program = (session: Session) => void | Promise<void>;

/** All that a program has shown, and what it left. */
export interface Outcome {
  readonly seen: readonly (readonly [name: string, value: unknown])[];
  readonly left: Readonly<Record<string, number>>;
}

/** A way in which a program can be run. */
export type Way = (program: Program) => Promise<Outcome>;

const bitsOf = (value: unknown): unknown => {
  if (typeof value === "number") return Buffer.from(Float64Array.of(value).buffer).toString("hex");
  if (value instanceof tf.Tensor) return [value.dtype, value.shape, bitsOf(value.dataSync())];
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
  if (Array.isArray(value)) return value.map(bitsOf);
  if (value instanceof Error) return value.message;
  if (value !== null && typeof value === "object") return Object.values(value).map(bitsOf);
  return value;
};

export const counts = (): Record<string, number> => {
  const { numTensors, numBytes, numDataBuffers } = tf.memory();
  const { state } = tf.engine();
  return {
    numTensors,
    numBytes,
    numDataBuffers,
    dataIds: tf.backend().numDataIds(),
    gradientDepth: state.gradientDepth,
    kernelDepth: state.kernelDepth,
    scopes: state.scopeStack.length,
    tape: state.activeTape === null ? 0 : 1,
    variables: Object.keys(state.registeredVariables).length,
  };
};

async function run(program: Program, execution?: Pick<BudgetExecution, "planned">): Promise<Outcome> {
  const seen: [string, unknown][] = [];
  const before = counts();
  await seeded(11, async () => {
    await program({
      note: (name, ...values) => void seen.push([name, bitsOf(values)]),
      memory: (): number[] => {
        const { numTensors, numBytes, numDataBuffers } = tf.memory();
        return [numTensors - before.numTensors, numBytes - before.numBytes, numDataBuffers - before.numDataBuffers];
      },
      pause: async () => {
        await execution?.planned;
      },
    });
  });
  const after = counts();
  return { seen, left: Object.fromEntries(Object.keys(after).map((key) => [key, after[key] - before[key]])) };
}

export const stock: (program: Program) => Promise<Outcome> = (program) => run(program);

/** Stock's most bytes, of what the program itself makes. */
export async function peakOf(program: Program): Promise<number> {
  const meter = new MemoryMeter();
  await withDispatchMode(meter, () => run(program));
  return meter.peakBytes;
}

export const early: Way = async (program) => {
  const stop = releaseEarly();
  try {
    return await run(program);
  } finally {
    stop();
  }
};

/** Every fifth time that something could go it does. */
export const muchGoes: Way = async (program) => {
  let count = 0;
  const close = openDispatchMode(new Executor(new EvictingPolicy(() => ++count % 5 === 0)));
  try {
    return await run(program);
  } finally {
    close();
  }
};

/** A plan may still be in the making when a program ends with an error. */
async function runAndSettle(program: Program, execution: BudgetExecution): Promise<Outcome> {
  try {
    return await run(program, execution);
  } finally {
    await execution.planned;
  }
}

/** Runs with the smallest fraction of the baseline's peak with which the program works. */
export const budgeted =
  (fractions: readonly number[], online: boolean): Way =>
  async (program) => {
    const peakBytes = await peakOf(program);
    for (const fraction of fractions)
      try {
        const budget = Math.ceil(fraction * peakBytes);
        return await withMemoryBudget(budget, (execution) => runAndSettle(program, execution), {
          online,
          planningMs: 150,
        });
      } catch (error) {
        if (!(error instanceof BudgetError)) throw error;
        // Tensors that the program could not dispose.
        tf.disposeVariables();
      }
    throw new Error(`no budget up to ${fractions.at(-1)} of ${peakBytes} bytes does`);
  };

/** Within half of what stock takes, as its passes show; where that does not do, all of it is tried. */
export const shared: Way = async (program) => {
  const within = (budget: string, strict: boolean) =>
    withMemoryBudget(budget, (execution) => runAndSettle(program, execution), { strict, planningMs: 150 });
  try {
    return await within("50%", true);
  } catch (error) {
    if (!(error instanceof BudgetError)) throw error;
    // Tensors that the program could not dispose.
    tf.disposeVariables();
    return within("100%", false);
  }
};

/**
 * A plan for the first forward and backward pass of a program that does not fail, in the least of parts of its peak that is found to do; undefined
 * where all fail.
 */
export async function planOfFirstPass(program: Program, fractions: readonly number[]): Promise<Plan | undefined> {
  let recorder: TraceRecorder | undefined;
  const firstPass = {
    gradients: <T>(_call: unknown, next: () => T): T => {
      if (recorder !== undefined) return next();
      const own = new TraceRecorder({ outside: false });
      recorder = own;
      return withDispatchMode(own, () => {
        own.mark(gradientsStartMark);
        try {
          const result = next();
          own.mark(gradientsEndMark);
          return result;
        } catch (error) {
          recorder = undefined;
          throw error;
        }
      });
    },
  };
  await withDispatchMode(firstPass, () => run(program));
  if (recorder === undefined) return undefined;
  const trace = priceTrace((recorder as unknown as TraceRecorder).trace(), deviceSpec("cpu"));
  // Earlier tensors are only met when they are read, but the plain order of the graph contains all of them.
  const graph = planningGraphOfTrace(trace);
  const order = Int32Array.from({ length: graph.nodeCount }, (_, node) => node);
  const { peakBytes } = simulateSchedule(graph, order)!;
  for (const fraction of fractions) {
    const budgetBytes = fraction * peakBytes;
    const { point } = await planCheckpointing(trace, { budgetBytes, iterations: 300, boundTimeMs: 0 });
    if (point !== undefined) return point.plan;
  }
  throw new Error(`no plan within ${fractions.at(-1)} of the pass's peak`);
}

/** Under a plan for its first pass; passes that differ store more. */
export const planned: Way = async (program) => {
  const plan = await planOfFirstPass(program, [0.5, 0.7, 0.9, 1]);
  if (plan === undefined) return run(program);
  const execution = applyPlan(plan, { onMismatch: "store" });
  try {
    return await run(program);
  } finally {
    execution.close();
  }
};

/** The functions that are there to be patched. */
export function methodsOf(): Map<string, unknown> {
  const found = new Map<string, unknown>();
  const add = (name: string, object: object) => {
    for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(object)))
      if (typeof value === "function") found.set(`${name}.${key}`, value);
  };
  const engine = tf.engine();
  add("engine", engine);
  add("Engine", Object.getPrototypeOf(engine));
  const backend = tf.backend();
  add("backend", backend);
  add("Backend", Object.getPrototypeOf(backend));
  for (const value of Object.values(backend))
    if (value && typeof value === "object" && "dataMover" in value) add("data", value);
  add("Tensor", tf.Tensor.prototype);
  add("Variable", tf.Variable.prototype);
  add("Optimizer", tf.Optimizer.prototype);
  for (const kind of [tf.SGDOptimizer, tf.AdamOptimizer, tf.MomentumOptimizer, tf.RMSPropOptimizer])
    add(kind.name, kind.prototype);
  add("LayersModel", tf.LayersModel.prototype);
  add("Layer", tf.layers.Layer.prototype);
  add("RNN", tf.layers.RNN.prototype);
  for (const config of tf.getKernelsForBackend(tf.getBackend()))
    found.set(`kernel ${config.kernelName}`, config.kernelFunc);
  add("globalThis.Math", { random: Math.random });
  return found;
}
