import { type Backend, isKnown } from "./backend.js";
import { bestFirst } from "./best-first.js";
import { type BackendName, backends } from "./find-backend.js";
import { hasKnownKernels, kernelsOfBackend } from "./kernel-tables.js";

type NamedBackend = Backend & { readonly name: BackendName };

/**
 * Tells whether fake mode can stand for a backend that runs here: it has a table of its kernels, or runs them without its device.
 *
 * @internal
 */
export const isFakeableHere = (running: Backend): running is NamedBackend =>
  hasKnownKernels(running) || running.withoutDevice !== undefined;

const isFakeable = (backend: Backend): backend is NamedBackend => hasKnownKernels(backend);

/**
 * Returns the backends that fake mode can stand for, the best first.
 *
 * @example
 * fakeableBackends().map(({ name }) => name); // ["tensorflow", "wasm", "cpu"]
 */
export function fakeableBackends(): readonly NamedBackend[] {
  return bestFirst().filter(isFakeable);
}

/**
 * Returns the backend that a training step without values is for where nobody names one: the best that fake mode can stand for, since steps are
 * trained there. A program that has a backend `running` asks for that one, if fake mode can stand for it: what is asked is what would happen here.
 *
 * @example
 * defaultBackend().name; // "tensorflow"
 * defaultBackend(findBackend("wasm")).name; // "wasm"
 */
export function defaultBackend(running?: Backend): NamedBackend {
  return running !== undefined && isFakeableHere(running) ? running : fakeableBackends()[0];
}

/**
 * Returns the backend for which fake mode stands where any program is to run and nobody names one: that which lacks the fewest kernels, so that what
 * runs anywhere runs.
 *
 * @example
 * fullestBackend().name; // "cpu"
 */
export function fullestBackend(): NamedBackend {
  const lacksOf = (backend: Backend): number => {
    const kernels = kernelsOfBackend(backend);
    return isKnown(kernels) ? kernels.lacks.size : Number.POSITIVE_INFINITY;
  };
  return backends.filter(isFakeable).reduce((fullest, each) => (lacksOf(each) < lacksOf(fullest) ? each : fullest));
}
