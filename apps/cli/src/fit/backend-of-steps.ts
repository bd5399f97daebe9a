import { defaultBackend } from "@remat/dispatch-hook/backends";
import { type BackendName, backendPackages } from "@remat/dispatch-hook/backends/node";
import { probeBackend } from "../doctor/probe-backend.js";

/** The backend whose steps are searched. */
export interface BackendOfSteps {
  readonly name: BackendName;
  /** Why this backend was chosen, in a sentence. Undefined if the user named it. */
  readonly note: string | undefined;
}

/**
 * Returns the backend whose steps have to fit: the named one, or else the default backend. If the steps have to fit on
 * this machine and no backend is named, it is the best one that can train here. As in `remat run`, a separate process
 * tests that.
 */
export async function backendOfSteps(
  named: BackendName | undefined,
  { isHere, from, probe = probeBackend }: { isHere: boolean; from: string; probe?: typeof probeBackend },
): Promise<BackendOfSteps> {
  if (named !== undefined) return { name: named, note: undefined };
  const { name: usual } = defaultBackend();
  if (!isHere)
    return { name: usual, note: `steps are estimated for the ${usual} backend (choose another with --backend)` };
  for (const brought of backendPackages()) {
    const { works, backend, package: working } = await probe(brought, from);
    if (works)
      return {
        name: backend,
        note: `steps are estimated for the ${backend} backend, which trains here with ${working}`,
      };
  }
  return {
    name: usual,
    note: `steps are estimated for the ${usual} backend; no backend trains here (remat doctor shows why)`,
  };
}
