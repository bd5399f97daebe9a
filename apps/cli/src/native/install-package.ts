import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Environment, type NativePackage } from "@remat/dispatch-hook/backends/node";
import { RematError } from "@remat/trace";
import { lockedApp, type Pins } from "./pins.js";
import { failureText, runCommand } from "./run-command.js";

/**
 * Installs tfjs-node into a folder without its install script, which downloads an addon that may not exist. npm rejects
 * a tarball of tfjs-node or its dependencies whose hash is not the pinned one.
 *
 * @returns the folder of the package
 * @throws RematError `NATIVE_NPM`
 * @internal
 */
export async function installPackage(
  app: string,
  name: NativePackage,
  npm: string,
  pins: Pins,
  env: Environment,
): Promise<string> {
  const { manifest, lock } = lockedApp(pins, name);
  writeFileSync(join(app, "package.json"), manifest);
  writeFileSync(join(app, "package-lock.json"), lock);
  const args = ["ci", "--ignore-scripts", "--no-bin-links", "--no-audit", "--no-fund", "--loglevel=error"];
  const result = await runCommand(npm, args, { cwd: app, env });
  const folder = join(app, "node_modules/@tensorflow", name);
  if (result.code !== 0 || !existsSync(join(folder, "binding/tfjs_binding.cc")))
    throw new RematError(
      "NATIVE_NPM",
      `npm could not install @tensorflow/${name}@${pins.packages[name].version}: ${failureText(result)}. ${
        result.stderr.includes("EINTEGRITY")
          ? "The registry's file differs from the pinned one. Use npm's own registry (npm config get registry)."
          : "Check the network and npm's registry (npm config get registry)."
      }`,
    );
  return folder;
}
