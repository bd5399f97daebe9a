import { defaultBackend } from "@remat/dispatch-hook/backends";
import { type BackendName, backendPackages } from "@remat/dispatch-hook/backends/node";
import { probeBackend } from "../doctor/probe-backend.js";

/** The backend whose steps are meant. */
export interface BackendOfSteps {
  readonly name: BackendName;
  /** Why this one, in a sentence; undefined where it was named. */
  readonly note: string | undefined;
}

/**
 * Returns the backend whose steps are to fit: the one that is named; where they are to fit on this machine the best that trains here, which `remat run` takes, too, tried in a process of its own; else that
 * which stands for all.
 */
export async function backendOfSteps(
  named: BackendName | undefined,
  { isHere, from, probe = probeBackend }: { isHere: boolean; from: string; probe?: typeof probeBackend },
): Promise<BackendOfSteps> {
  if (named !== undefined) return { name: named, note: undefined };
  const { name: usual } = defaultBackend();
  if (!isHere) return { name: usual, note: `steps: those of ${usual}; --backend names another` };
  for (const brought of backendPackages()) {
    const { works, backend, package: working } = await probe(brought, from);
    if (works) return { name: backend, note: `steps: those of ${backend}, which trains here by ${working}` };
  }
  return { name: usual, note: `steps: those of ${usual}; no backend trains here: remat doctor says why` };
}
