import { globalModule, Phase, row, type Trace } from "@remat/trace";

/** Time of the ops that ran in a module, including its submodules. */
export interface ModuleRuntime {
  /** Forward pass in milliseconds and, for {@link globalModule}, also the optimizer. */
  readonly forwardMs: number;
  /** Backward pass in milliseconds, including recomputation. */
  readonly backwardMs: number;
}

/** Result of `moduleRuntimes`. */
export interface ModuleRuntimes {
  /** Runtimes by FQN, in the order in which modules first ran an op. {@link globalModule} comes first. */
  readonly modRuntimes: ReadonlyMap<string, ModuleRuntime>;
  /** Sum over all ops, in milliseconds. */
  readonly totalRuntimeMs: number;
}

/**
 * Returns the forward and backward runtime of each module from the `runtimeMs` column of `trace`. The times of all
 * calls of a module are added. Ops of other work in the process (phase `outside`) do not count. Modules that start with
 * the same op are in ascending order.
 *
 * @example
 * moduleRuntimes(priceTrace(trace, deviceSpec("a100"))).modRuntimes.get("ResNet.layer1"); // { forwardMs, backwardMs }
 */
export function moduleRuntimes(trace: Trace): ModuleRuntimes {
  const { ops } = trace;
  const { fqns, ofStack } = modulesOfStacks(trace);
  const forwardMs = new Float64Array(fqns.length);
  const backwardMs = new Float64Array(fqns.length);
  const seen = new Uint8Array(fqns.length);
  const seenStack = new Uint8Array(ofStack.length);
  const order: number[] = [];
  let totalRuntimeMs = 0;
  for (let op = 0; op < ops.count; op++) {
    const phase = ops.phase[op];
    if (phase === Phase.outside) continue;
    const stack = ops.stack[op];
    const modules = ofStack[stack];
    if (seenStack[stack] === 0) {
      seenStack[stack] = 1;
      for (const module of modules) {
        if (seen[module] === 0) order.push(module);
        seen[module] = 1;
      }
    }
    const sums = phase === Phase.backward || phase === Phase.recompute ? backwardMs : forwardMs;
    const ms = ops.runtimeMs[op];
    for (let i = 0; i < modules.length; i++) sums[modules[i]] += ms;
    totalRuntimeMs += ms;
  }
  const modRuntimes = new Map(
    order.map((module) => [fqns[module], { forwardMs: forwardMs[module], backwardMs: backwardMs[module] }]),
  );
  return { modRuntimes, totalRuntimeMs };
}

/** Returns the modules of each call stack without duplicates: Global first, then by name. */
function modulesOfStacks(trace: Trace): { readonly fqns: readonly string[]; readonly ofStack: readonly Int32Array[] } {
  const fqns = [globalModule];
  const numbers = new Map([[globalModule, 0]]);
  const ofModule = trace.modules.map(({ fqn }) => {
    let number = numbers.get(fqn);
    if (number === undefined) {
      number = fqns.push(fqn) - 1;
      numbers.set(fqn, number);
    }
    return number;
  });
  const ofStack = Array.from({ length: trace.stacks.start.length - 1 }, (_, stack) => {
    const modules = new Set(Array.from(row(trace.stacks, stack), (call) => ofModule[trace.calls.module[call]]));
    modules.delete(0);
    const named = [...modules].sort((a, b) => (fqns[a] < fqns[b] ? -1 : 1));
    return Int32Array.from([0, ...named]);
  });
  return { fqns, ofStack };
}
