import { currentBackend } from "@remat/dispatch-hook";
import { isKnown, nameBackends } from "@remat/dispatch-hook/backends";
import { RematError } from "@remat/trace";

/**
 * Rejects backends whose data cannot be evicted under living tensors.
 *
 * @throws RematError `BACKEND_UNSUPPORTED`
 *
 * @internal
 */
export function checkBackend(): void {
  const { name, residency } = currentBackend();
  if (isKnown(residency)) return;
  const choices = nameBackends((other) => isKnown(other.residency));
  throw new RematError(
    "BACKEND_UNSUPPORTED",
    `recomputation is not supported on the backend '${name}': ${residency.unknown}. ` +
      `Select ${choices} with selectBackend(), or use releaseEarly(), which works on every backend.`,
  );
}
