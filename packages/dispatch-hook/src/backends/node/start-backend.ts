import { pathToFileURL } from "node:url";
import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";
import { findBackend } from "../find-backend.js";
import { missingGradientKernels } from "./gradient-kernels.js";

/** A backend by the module that brings it, as `selectBackend` found it. */
export interface BackendModule {
  readonly backend: string;
  readonly path: string;
}

/**
 * Makes the backend current that a module brings; `for` training with the kernels of gradients that it lacks, too. The one way in which remat starts
 * a backend that is loaded from disk; a process that cannot look for one is told the module.
 *
 * @throws RematError `NO_BACKEND` if it does not start, `BACKEND_UNTRAINABLE` if it lacks kernels of gradients after all; and what the module throws
 * @example
 * const { backend, path } = await selectBackend({ for: "training" });
 * await startBackend({ backend, path }, { for: "training" }); // in another process
 */
export async function startBackend(
  { backend, path }: BackendModule,
  options: { readonly for?: "training" } = {},
): Promise<void> {
  const { prepare, provideGradientKernels } = findBackend(backend);
  prepare?.();
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
  if (options.for !== "training") return;
  provideGradientKernels?.();
  const lacking = missingGradientKernels(backend);
  if (lacking.length > 0)
    throw new RematError(
      "BACKEND_UNTRAINABLE",
      `it cannot train everything, since it lacks kernels: ${lacking.join(", ")}`,
    );
}
