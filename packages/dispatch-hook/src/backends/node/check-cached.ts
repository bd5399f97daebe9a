import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { RematError } from "@remat/trace";
import { cacheFolder, type Environment } from "./native-cache.js";
import { readSums, sumsFile } from "./sums.js";
import { distrustOfWay } from "./trusted-files.js";

/** Path of tfjs-node's addon. */
const addon = "lib/napi-v8/tfjs_binding.node";
/** Path where the addon looks for TensorFlow. */
const libraries = "deps/lib";

const renew = "Rebuild it with remat setup native --force";

/**
 * Checks a module or library of the cache before it is loaded. It fails if another user could have changed it. Every
 * folder on the path, the file and its addon, and TensorFlow's libraries must belong to the user or to root, and must
 * not be writable by others. Module and addon must match `SHA256SUMS` of their folder. Files outside of the cache are
 * not checked. `remat doctor --verify` also hashes the rest of the folder and TensorFlow's libraries, which are 0.9 GB.
 *
 * @throws RematError `NATIVE_UNTRUSTED`
 * @example
 * checkCached("/home/me/.cache/remat/native/tfjs-node-4.22.0/node_modules/@tensorflow/tfjs-node/dist/index.js");
 */
export function checkCached(path: string, env: Environment = process.env): void {
  const native = join(cacheFolder(env), "native");
  if (!existsSync(native)) return;
  const [name, ...rest] = relative(realpathSync(native), realpathSync(path)).split(sep);
  if (name === ".." || rest.length === 0) return;
  const app = join(native, name);
  const sums = readSums(app);
  if (sums === undefined)
    throw new RematError(
      "NATIVE_UNTRUSTED",
      `${app} has no ${sumsFile}: an earlier version of remat built it. ${renew}.`,
    );
  const modules = rest.lastIndexOf("node_modules");
  const packagePath = rest.slice(0, modules + (rest[modules + 1].startsWith("@") ? 3 : 2));
  const linked = join(app, ...packagePath, libraries);
  if (existsSync(linked)) for (const file of readdirSync(linked)) checkOwner(join(linked, file), env);
  for (const file of [rest, [...packagePath, ...addon.split("/")]]) {
    const inApp = file.join("/");
    if (!existsSync(join(app, inApp))) continue;
    checkOwner(join(app, inApp), env);
    const found = createHash("sha256")
      .update(readFileSync(join(app, inApp)))
      .digest("hex");
    if (found !== sums.get(inApp))
      throw new RematError(
        "NATIVE_UNTRUSTED",
        `${join(app, inApp)} was changed after the build: its SHA-256 is ${found}, expected ${sums.get(inApp) ?? "no such file"}. ${renew}.`,
      );
  }
}

/**
 * Fails for a file of the cache that others can change.
 *
 * @throws RematError `NATIVE_UNTRUSTED`
 *
 * @internal
 */
function checkOwner(file: string, env: Environment = process.env): void {
  const distrust = distrustOfWay(file, cacheFolder(env));
  if (distrust !== undefined)
    throw new RematError(
      "NATIVE_UNTRUSTED",
      `the cache is not safe to load from: ${distrust}. Fix its owner and permissions (chown, chmod go-w), or set REMAT_CACHE_DIR to another folder.`,
    );
}
