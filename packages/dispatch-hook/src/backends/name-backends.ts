import type { Backend } from "./backend.js";
import { backends } from "./find-backend.js";

/**
 * Returns the names of the backends that satisfy a condition, for a message.
 *
 * @example
 * nameBackends(hasKnownKernels); // "cpu, tensorflow (native) or wasm"
 */
export function nameBackends(condition: (backend: Backend) => boolean): string {
  const names = backends
    .filter(condition)
    .map(({ name, alias }) => (alias === undefined ? name : `${name} (${alias})`));
  const last = names.pop();
  return names.length === 0 ? (last ?? "none") : `${names.join(", ")} or ${last}`;
}
