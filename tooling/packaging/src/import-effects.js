// Run in a folder in which a package is installed: `node import-effects.js SPECIFIER…` imports each and fails if that
// has changed anything in the process: globals, listeners, the tfjs engine.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const watched = () => {
  const marks = new Map();
  const add = (name, value) => marks.set(name, value);
  for (const key of Reflect.ownKeys(globalThis)) {
    const value = globalThis[key];
    add(`globalThis.${String(key)}`, value);
    const prototype = typeof value === "function" ? value.prototype : undefined;
    if (prototype === undefined || prototype === null) continue;
    for (const member of Reflect.ownKeys(prototype))
      add(`${String(key)}.prototype.${String(member)}`, Object.getOwnPropertyDescriptor(prototype, member)?.value);
  }
  for (const event of process.eventNames()) add(`process.on(${String(event)})`, process.listenerCount(event));
  for (const [name, value] of Object.entries(process.env)) add(`process.env.${name}`, value);
  return marks;
};

const engineOf = (tf) => {
  const marks = new Map();
  const engine = tf.engine();
  for (let object = engine; object !== null && object !== Object.prototype; object = Object.getPrototypeOf(object))
    for (const key of Reflect.ownKeys(object)) {
      const { value } = Object.getOwnPropertyDescriptor(object, key);
      if (typeof value === "function") marks.set(`engine.${String(key)}`, value);
    }
  marks.set("engine.backendName", engine.backendName);
  marks.set("backends", Object.keys(engine.registryFactory).join());
  marks.set("kernels", tf.getKernelsForBackend("cpu").length);
  marks.set("tensors", engine.state.numTensors);
  marks.set("classes", Object.keys(tf.serialization.SerializationMap.getMap().classNameMap).join());
  return marks;
};

// Node defines some globals as getters that become values on first use, and some that warn.
process.removeAllListeners("warning");
for (const key of Reflect.ownKeys(globalThis)) Reflect.get(globalThis, key);
// Uses the copies that the package itself resolves: it may import tfjs-layers, which registers its own things.
const { resolve } = createRequire(import.meta.resolve(process.argv[2]));
const importThere = async (name) => {
  try {
    return await import(pathToFileURL(resolve(name)).href);
  } catch {
    return undefined;
  }
};
const tf = await importThere("@tensorflow/tfjs-core");
if (tf !== undefined) await importThere("@tensorflow/tfjs-layers");
const look = () => new Map([...watched(), ...(tf === undefined ? [] : engineOf(tf))]);
const before = look();
for (const specifier of process.argv.slice(2)) await import(specifier);
const after = look();
const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
  (name) => !Object.is(before.get(name), after.get(name)),
);
if (changed.length > 0) {
  console.error(`importing ${process.argv.slice(2).join(", ")} changes ${changed.join(", ")}`);
  process.exitCode = 1;
}
