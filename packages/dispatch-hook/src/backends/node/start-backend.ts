import { pathToFileURL } from "node:url";
import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";
import { findBackend } from "../find-backend.js";
import { missingGradientKernels } from "./gradient-kernels.js";

/** A backend and the module that provides it, as found by `selectBackend`. */
export interface BackendModule {
  /** Name of the backend. */
  readonly backend: string;
  /** Path of the module. */
  readonly path: string;
}

/**
 * Loads a module and makes its backend current. `for: "training"` also adds missing gradient kernels. This is the only
 * place where remat starts a backend from disk. If a process cannot look for a module itself, pass it the path of one
 * that works.
 *
 * @throws RematError `NO_BACKEND` if it does not start, `BACKEND_UNTRAINABLE` if it still lacks gradient kernels; also
 * any error of the module
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
  // A second copy of TensorFlow.js would warn for each kernel that the first has registered.
  const wasProduction = tf.env().getBool("PROD");
  tf.env().set("PROD", true);
  try {
    await import(pathToFileURL(path).href);
    if (!(await tf.setBackend(backend)))
      throw new RematError("NO_BACKEND", `backend '${backend}' of ${path} did not start. Run remat doctor to see why.`);
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
      `it cannot train every model, because kernels are missing: ${lacking.join(", ")}`,
    );
}
