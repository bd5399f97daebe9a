import {
  type Backend,
  type BackendKernels,
  type BackendName,
  findBackend,
  isKnown,
  nameBackends,
} from "@remat/backends";
import { RematError } from "@remat/trace";

/** A backend that fake mode can stand for, and its kernels. @internal */
export interface FakeableBackend {
  readonly backend: Backend;
  readonly kernels: BackendKernels;
}

/**
 * Returns the backend of that name, or the given one.
 *
 * @throws RematError `BACKEND_UNSUPPORTED` if its kernels are not known
 * @internal
 */
export function fakeableBackend(named: Backend | BackendName): FakeableBackend {
  const backend = typeof named === "string" ? findBackend(named) : named;
  const { name, kernels } = backend;
  if (isKnown(kernels)) return { backend, kernels };
  const choices = nameBackends((other) => isKnown(other.kernels));
  throw new RematError(
    "BACKEND_UNSUPPORTED",
    `Fake mode cannot stand for backend '${name}': ${kernels.unknown}. Choose ${choices}.`,
  );
}
