import { RematError } from "@remat/trace";
import type { Backend } from "./backend.js";
import * as list from "./backend-list.js";
import { requestedBytes } from "./data-entry.js";

/** A backend that remat knows, as tfjs-core names it; `tensorflow` is native, on a CPU or a GPU. */
export type BackendName = keyof typeof list;

const known: Backend[] = Object.values(list);

/** All backends that remat knows, those of `addBackend` among them. */
export const backends: readonly Backend[] = known;

const byName = new Map<string, Backend>(backends.map((backend) => [backend.name, backend]));
const strangers = new Map<string, Backend>();

/**
 * Returns what is known of the backend that tfjs names `name`: next to nothing for one that is in no list.
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
 * Makes a backend of your own known, and returns what takes it away again.
 *
 * @throws RematError `BACKEND_KNOWN` if there is one of that name
 * @example
 * const remove = addBackend({ ...findBackend("cpu"), name: "mine" });
 */
export function addBackend(backend: Backend): () => void {
  if (byName.has(backend.name))
    throw new RematError("BACKEND_KNOWN", `a backend '${backend.name}' is known already; give yours another name.`);
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
    kernels: { unknown: "remat does not know it" },
    sharing: new Map(),
    residency: { unknown: "what shares a buffer there is not known" },
    bytesOf: (entry) => requestedBytes(entry),
    deviceOf: () => ({ device: "cpu", allocationUnitBytes: 1, isAsynchronous: true }),
  };
}
