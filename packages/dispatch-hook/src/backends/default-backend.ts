import { type Backend, isKnown } from "./backend.js";
import { bestFirst } from "./best-first.js";
import { type BackendName, backends } from "./find-backend.js";
import { hasKnownKernels, kernelsOfBackend } from "./kernel-tables.js";

type NamedBackend = Backend & { readonly name: BackendName };

/**
 * Returns whether fake mode can simulate a backend that runs here: it has a table of its kernels, or can run them
 * without its device.
 *
 * @internal
 */
export const isFakeableHere = (running: Backend): running is NamedBackend =>
  hasKnownKernels(running) || running.withoutDevice !== undefined;

const isFakeable = (backend: Backend): backend is NamedBackend => hasKnownKernels(backend);

/**
 * Returns the backends that fake mode can simulate, the best first.
 *
 * @example
 * fakeableBackends().map(({ name }) => name); // ["tensorflow", "wasm", "cpu"]
 */
export function fakeableBackends(): readonly NamedBackend[] {
  return bestFirst().filter(isFakeable);
}

/**
 * Returns the default backend for a training step without values: the best one that fake mode can simulate, since real
 * steps use the best one. If fake mode can simulate `running`, the current backend of a program, returns that one,
 * because it shows what would happen here.
 *
 * @example
 * defaultBackend().name; // "tensorflow"
 * defaultBackend(findBackend("wasm")).name; // "wasm"
 */
export function defaultBackend(running?: Backend): NamedBackend {
  return running !== undefined && isFakeableHere(running) ? running : fakeableBackends()[0];
}

/**
 * Returns the default backend for simulating any program: the one that lacks the fewest kernels.
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
