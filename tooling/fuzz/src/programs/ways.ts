import { MemoryMeter } from "@remat/checkpoint";
import { withDispatchMode } from "@remat/dispatch-hook";
import type { BackendName } from "@remat/dispatch-hook/backends";
import { DataDependentError, fakeMode } from "@remat/dispatch-hook/fake";
import { parseTrace, RematError, type Trace, writeTrace } from "@remat/trace";
import { TraceRecorder } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { type Outcome, stock } from "../../../../packages/checkpoint/test/users/ways.js";
import { compile } from "./compile.js";
import { compileFor, executions } from "./executions.js";
import { firstDifference } from "./first-difference.js";
import { healEngine } from "./heal-engine.js";
import { shapeObserver } from "./observe.js";

/** A way of running a program. Returns its difference from the unmodified one, or undefined. */
export type Way = (source: string, stock: Outcome) => Promise<string | undefined>;

/** Records the program, and reads the recording back from its file. */
const recorded: Way = async (source, expected) => {
  const recorder = new TraceRecorder();
  const outcome = await withDispatchMode(recorder, () => stock(compile(source)));
  const trace = recorder.trace();
  const difference = firstDifference(expected, outcome);
  if (difference !== undefined) return difference;
  const text = textOf(trace);
  const again = textOf(parseTrace(text));
  if (again !== text) return "the trace is another one when it has been written and read";
  return undefined;
};

const textOf = (trace: Trace): string => Buffer.concat([...writeTrace(trace)]).toString();

/** Fake kernels reject with different messages. */
const withoutWords = (outcome: Outcome): Outcome => ({
  ...outcome,
  seen: outcome.seen.map(([name, value]) => (name === "error" ? [name, "in some words"] : [name, value])),
});

/**
 * Returns whether kernels of a program use memory that fake mode does not model: those of Fourier transforms, recursive
 * in JavaScript, on cpu.
 */
const hasUnknownScratch = (source: string): boolean => tf.getBackend() === "cpu" && /fft/.test(source);

/** In fake mode a program must show the same shapes, and use the same memory, as one that computes. */
const fake: Way = async (source) => {
  const isMetered = !hasUnknownScratch(source);
  const metered = async () => {
    const meter = new MemoryMeter();
    const observer = shapeObserver(isMetered ? meter : undefined);
    return withDispatchMode(meter, () => stock(compile(source, { observer })));
  };
  const real = await metered();
  healEngine();
  // Ops that this backend does not support may be rejected earlier in fake mode, or not at all.
  if (real.seen.some(([name, message]) => name === "error" && /not registered|not yet supported/.test(String(message))))
    return undefined;
  try {
    const faked = await fakeMode(metered, { backend: tf.getBackend() as BackendName });
    return firstDifference(withoutWords(real), withoutWords(faked));
  } catch (error) {
    // Some shapes follow from values, which fake mode does not compute.
    if (error instanceof DataDependentError) return undefined;
    if (error instanceof RematError && real.seen.some(([name]) => name === "error")) return undefined;
    throw error;
  }
};

/** Every way in which a program is run besides unmodified. */
export const ways: Readonly<Record<string, Way>> = {
  ...Object.fromEntries(
    Object.entries(executions).map(([name, execution]): [string, Way] => [
      name,
      async (source, expected) => firstDifference(expected, await execution.run(compileFor(execution, source))),
    ]),
  ),
  recorded,
  "in fake mode": fake,
};
