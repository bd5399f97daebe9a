import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type BackendName, findBackend } from "@remat/dispatch-hook/backends";
import { restoreUtil } from "@remat/dispatch-hook/backends/node";
import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";

/** Activates a backend with the kernels that training needs. The native one is from the folder NATIVE_APP. */
export async function startBackend(backend: BackendName): Promise<void> {
  tf.env().set("PROD", true);
  if (backend === "tensorflow") loadNative(process.env.NATIVE_APP ?? "");
  if (!(await tf.setBackend(backend))) throw new Error(`backend '${backend}' did not start`);
  findBackend(backend).provideGradientKernels?.();
}

function loadNative(app: string): void {
  const name = ["tfjs-node-gpu", "tfjs-node"].find((each) => existsSync(join(app, "node_modules/@tensorflow", each)));
  if (name === undefined)
    throw new Error(`NATIVE_APP expects a folder in which tfjs-node is installed with its addon, found '${app}'`);
  restoreUtil();
  createRequire(join(app, "package.json"))(`@tensorflow/${name}`);
}
