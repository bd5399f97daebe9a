import { env } from "@tensorflow/tfjs-core";

const isPromise = (value) => typeof value?.then === "function";

/** Runs `run`, synchronous or not, and `over` when it has gone well. */
export function whenOver(run, over) {
  const result = run();
  return isPromise(result) ? result.then(over) : over();
}

/** Runs `run`, synchronous or not. A spec that is broken off does not put back tfjs's flags, nor what it has registered: then this does. */
export function restoringIfBrokenOff(run) {
  const flags = { ...env().getFlags() };
  const registries = ["kernelRegistry", "gradRegistry"].map((name) => globalThis._tfGlobals.get(name));
  const registered = registries.map((registry) => [...registry]);
  const restore = (error) => {
    env().setFlags(flags);
    registries.forEach((registry, i) => {
      registry.clear();
      for (const [key, value] of registered[i]) registry.set(key, value);
    });
    throw error;
  };
  try {
    const result = run();
    return isPromise(result) ? result.catch(restore) : result;
  } catch (error) {
    return restore(error);
  }
}
