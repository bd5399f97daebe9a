import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import util from "node:util";

/** Loads the package of TensorFlow in the folder that NATIVE_APP names. */
export function loadNative() {
  util.isNullOrUndefined ??= (value) => value === null || value === undefined;
  const app = join(process.env.NATIVE_APP, "node_modules/@tensorflow");
  const name = readdirSync(app).find((each) => each.startsWith("tfjs-node"));
  createRequire(import.meta.url)(join(app, name));
}
