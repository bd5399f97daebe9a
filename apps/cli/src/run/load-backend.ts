import { pathToFileURL } from "node:url";
import util from "node:util";
import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";
import type { BackendModule } from "./step-job.js";

/**
 * Makes the backend current that a module brings. What `selectBackend` does once it has found one, in a process that must not load the
 * package that this is in.
 */
export async function loadBackend({ backend, path }: BackendModule): Promise<void> {
  // What tfjs-node needs and Node 23 removed.
  const old = util as unknown as Record<string, unknown>;
  old["isNullOrUndefined"] ??= (value: unknown) => value === null || value === undefined;
  old["isArray"] ??= Array.isArray;
  // A second copy of tfjs would warn of each kernel that the first has registered.
  const wasProduction = tf.env().getBool("PROD");
  tf.env().set("PROD", true);
  try {
    await import(pathToFileURL(path).href);
    if (!(await tf.setBackend(backend)))
      throw new RematError("NO_BACKEND", `backend '${backend}' of ${path} did not start; see remat doctor`);
    await tf.ready();
  } finally {
    tf.env().set("PROD", wasProduction);
  }
}
