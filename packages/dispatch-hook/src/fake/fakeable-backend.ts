import { RematError } from "@remat/trace";
import type { KernelBackend } from "@tensorflow/tfjs-core";
import {
  type Backend,
  type BackendKernels,
  type BackendName,
  findBackend,
  hasKnownKernels,
  isKnown,
  kernelsOfBackend,
  nameBackends,
} from "../backends/index.js";
import { engineInternals } from "../engine/index.js";

/** A backend that fake mode can simulate, and its kernels. @internal */
export interface FakeableBackend {
  readonly backend: Backend;
  readonly kernels: BackendKernels;
}

/** A backend whose kernels are in no table, and a running instance of it. @internal */
export interface RunningBackend {
  readonly backend: Backend;
  readonly running: KernelBackend;
}

/**
 * Returns a backend and its kernels, given the backend or its name.
 *
 * @throws RematError `BACKEND_UNSUPPORTED` if its kernels are not known
 *
 * @internal
 */
export function fakeableBackend(named: Backend | BackendName): FakeableBackend {
  const backend = typeof named === "string" ? findBackend(named) : named;
  const { name } = backend;
  const kernels = kernelsOfBackend(backend);
  if (isKnown(kernels)) return { backend, kernels };
  const choices = nameBackends(hasKnownKernels);
  throw new RematError(
    "BACKEND_UNSUPPORTED",
    `Fake mode does not support backend '${name}': ${kernels.unknown}. Choose ${choices}.`,
  );
}

/**
 * Returns the same as {@link fakeableBackend}. For a backend whose kernels are in no table, returns its running
 * instance if that can be simulated without its device.
 *
 * @throws RematError `BACKEND_UNSUPPORTED` if its kernels are not known and it has not been started
 *
 * @internal
 */
export function fakeableHere(named: Backend | BackendName): FakeableBackend | RunningBackend {
  const backend = typeof named === "string" ? findBackend(named) : named;
  const running = backend.withoutDevice && engineInternals().registry[backend.name];
  return running === undefined ? fakeableBackend(named) : { backend, running: running as unknown as KernelBackend };
}
