import { RematError } from "@remat/trace";
import type { Backend } from "./backend.js";
import * as list from "./backend-list.js";
import { requestedBytes } from "./data-entry.js";

/** A known backend, by its name in tfjs-core. `tensorflow` is native, on a CPU or a GPU. */
export type BackendName = keyof typeof list;

const known: Backend[] = Object.values(list);

/** All known backends, including those of `addBackend`. */
export const backends: readonly Backend[] = known;

const byName = new Map<string, Backend>(backends.map((backend) => [backend.name, backend]));
const strangers = new Map<string, Backend>();

/**
 * Returns the properties of the backend with this TensorFlow.js name. For an unlisted backend almost everything is
 * unknown.
 *
 * @example
 * findBackend("tensorflow").deviceOf(tf.backend()).device; // "cuda:0" where it uses a GPU
 */
export function findBackend(name: string): Backend {
  const found = byName.get(name) ?? strangers.get(name);
  if (found !== undefined) return found;
  const stranger = unknownBackend(name);
  strangers.set(name, stranger);
  return stranger;
}

/**
 * Adds your own backend. Returns a function that removes it.
 *
 * @throws RematError `BACKEND_KNOWN` if a backend of that name exists
 * @example
 * const remove = addBackend({ ...findBackend("cpu"), name: "mine" });
 */
export function addBackend(backend: Backend): () => void {
  if (byName.has(backend.name))
    throw new RematError("BACKEND_KNOWN", `a backend '${backend.name}' already exists. Give yours another name.`);
  byName.set(backend.name, backend);
  known.push(backend);
  return () => {
    byName.delete(backend.name);
    known.splice(known.indexOf(backend), 1);
  };
}

function unknownBackend(name: string): Backend {
  return {
    name,
    priority: 0,
    kernels: { unknown: "remat has no kernel table for it" },
    sharing: new Map(),
    residency: { unknown: "remat does not know which tensors share memory there" },
    bytesOf: (entry) => requestedBytes(entry),
    deviceOf: () => ({ device: "cpu", allocationUnitBytes: 1, isAsynchronous: true }),
  };
}
