import { env } from "@tensorflow/tfjs-core";

const isPromise = (value) => typeof value?.then === "function";

/** Runs `run`, synchronous or not, and `over` after success. */
export function whenOver(run, over) {
  const result = run();
  return isPromise(result) ? result.then(over) : over();
}

/** Runs `run`, synchronous or not. A failed spec does not restore tfjs's flags or its registrations, so this does. */
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
