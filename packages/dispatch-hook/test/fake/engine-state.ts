import * as tf from "@tensorflow/tfjs";

const ids = new WeakMap<object, string>();
let nextId = 0;

/** Objects and functions by identity, since what matters is that the same ones are back. */
function identified(value: unknown): unknown {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return value;
  let id = ids.get(value);
  if (id === undefined) {
    id = `#${nextId++}`;
    ids.set(value, id);
  }
  return id;
}

/** Own properties of `target`: all of them, or those named, with their descriptors. */
function properties(target: object, keys: readonly string[] = Object.keys(target)): unknown {
  return keys.map((key) => {
    const descriptor = Object.getOwnPropertyDescriptor(target, key);
    return [key, descriptor && { ...descriptor, value: identified(descriptor.value) }];
  });
}

const initializers = Object.values(tf.serialization.SerializationMap.getMap().classNameMap).map(
  ([{ prototype }]) => prototype as object,
);

/** Everything that fake mode touches: the engine, its registries, globals, flags, initializers, memory. */
export function engineState(): unknown {
  const engine = tf.engine();
  const names = ["cpu", "fake-cpu", "fake-wasm", "fake-tensorflow"];
  return {
    engine: properties(engine),
    backends: properties(engine.registry),
    factories: properties(engine.registryFactory),
    kernels: names.map((name) => tf.getKernelsForBackend(name).map(identified)),
    globals: properties(globalThis, ["Float32Array", "Int32Array", "Uint8Array"]),
    errors: properties(Error, ["prepareStackTrace", "stackTraceLimit"]),
    random: identified(Math.random),
    flags: { ...tf.env().getFlags() },
    initializers: initializers.map((prototype) => properties(prototype, ["apply"])),
    variables: Object.values(engine.registeredVariables).map((variable) => [
      identified(variable),
      identified(variable.dataId),
    ]),
    scopes: engine.state.scopeStack.length,
    depths: [engine.state.gradientDepth, engine.state.kernelDepth],
    memory: tf.memory(),
  };
}
