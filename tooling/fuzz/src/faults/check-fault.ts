import { BudgetError } from "@remat/checkpoint";
import { methodsOf, type Outcome, stock } from "../../../../packages/checkpoint/test/users/ways.js";
import { compile } from "../programs/compile.js";
import { compileFor, type Execution, executions } from "../programs/executions.js";
import { firstDifference } from "../programs/first-difference.js";
import { healEngine } from "../programs/heal-engine.js";
import { FaultyKernels, faultMessage, type KernelFault } from "./kernel-fault.js";

/**
 * Runs a program under a strategy in which one kernel call fails. The program must see that failure, the engine must be
 * restored, no more may be left than unmodified tfjs leaves after a failed call, and the program run again must behave
 * as unmodified. Returns any difference, or undefined.
 */
export async function checkFault(source: string, way: string, fault: KernelFault): Promise<string | undefined> {
  healEngine();
  const execution = executions[way];
  const expected = await stock(compile(source));
  healEngine();
  if (errorsOf(expected).length > 0) return undefined;
  const methods = methodsOf();
  const { outcome, error, hasFailed } = await runWithFault(execution, source, fault);
  const patched = [...methodsOf()].filter(([name, method]) => methods.get(name) !== method);
  if (patched.length > 0) return `still patched: ${patched.map(([name]) => name).join(", ")}`;
  if (error !== undefined) {
    // After a failed step unmodified tfjs leaves saved tensors, which may exceed a budget.
    const isExpected = error instanceof BudgetError || /^no budget up to|^a kernel fails/.test(error.message);
    return hasFailed && isExpected ? undefined : `raised ${error.stack}`;
  }
  if (!hasFailed) return firstDifference(expected, outcome);
  // A layer that was interrupted while it was built fails again.
  const [first] = errorsOf(outcome);
  if (first !== faultMessage) return `the program sees ${first ?? "nothing of the failure"}`;
  const open = Object.entries(outcome.left).filter(([name, count]) => states.has(name) && count !== 0);
  if (open.length > 0) return `left open: ${open.map(([name, count]) => `${name} ${count}`).join(", ")}`;
  const leak = await moreThanInStock(source, outcome, expected);
  if (leak !== undefined) return leak;
  const again = firstDifference(expected, await execution.run(compileFor(execution, source)));
  healEngine();
  if (again === undefined) return undefined;
  const differsFromItself = firstDifference(expected, await stock(compile(source))) !== undefined;
  healEngine();
  return differsFromItself ? undefined : `run again: ${again}`;
}

/**
 * Number of places at which the unmodified program is made to fail, to see the most that it leaves. The same call is
 * different there, since nothing is recomputed.
 */
const stockFaults = 12;

async function moreThanInStock(source: string, { left }: Outcome, expected: Outcome): Promise<string | undefined> {
  const inStock: Execution = { run: stock, rehearsals: 0 };
  const most = new Map([...counts].map((name) => [name, expected.left[name]]));
  const isMore = (name: string) => left[name] > (most.get(name) ?? 0);
  if (![...counts].some(isMore)) return undefined;
  const { calls } = await runWithFault(inStock, source, { call: Number.POSITIVE_INFINITY, moment: "before" });
  for (let i = 1; i <= stockFaults; i++) {
    const fault = { call: Math.floor((i / (stockFaults + 1)) * calls), moment: "before" } as const;
    const { outcome } = await runWithFault(inStock, source, fault);
    for (const name of counts) most.set(name, Math.max(most.get(name) ?? 0, outcome.left[name] ?? 0));
  }
  const more = [...counts].filter(isMore).map((name) => `${name} ${left[name]}, in stock ${most.get(name)}`);
  return more.length === 0 ? undefined : `left are ${more.join("; ")}`;
}

const states: ReadonlySet<string> = new Set(["gradientDepth", "kernelDepth", "scopes", "variables"]);
const counts: ReadonlySet<string> = new Set(["numTensors", "numBytes", "numDataBuffers", "dataIds"]);

const errorsOf = ({ seen }: Outcome): string[] =>
  seen.filter(([name]) => name === "error").map(([, message]) => String(message));

interface FaultyRun {
  readonly outcome: Outcome;
  readonly error: Error | undefined;
  readonly hasFailed: boolean;
  /** Number of kernel calls. */
  readonly calls: number;
}

async function runWithFault(execution: Execution, source: string, fault: KernelFault): Promise<FaultyRun> {
  const kernels = new FaultyKernels(fault);
  const program = compileFor(execution, source);
  let runs = 0;
  const armed: typeof program = async (session) => {
    if (runs++ >= execution.rehearsals) kernels.arm();
    await program(session);
  };
  try {
    const outcome = await execution.run(armed);
    return { outcome, error: undefined, hasFailed: kernels.hasFailed, calls: kernels.calls };
  } catch (error) {
    return {
      outcome: { seen: [], left: {} },
      error: error as Error,
      hasFailed: kernels.hasFailed,
      calls: kernels.calls,
    };
  } finally {
    kernels.restore();
    healEngine();
  }
}
