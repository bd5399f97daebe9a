import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type NativePackage, nativeVersion } from "@remat/backends/node";
import { RematError } from "@remat/trace";
import { type Environment, failureText, runCommand } from "./run-command.js";

/**
 * Installs tfjs-node into a folder, without its install script, which downloads an addon that need not be there.
 *
 * @returns the folder of the package
 * @throws RematError `NATIVE_NPM`
 * @internal
 */
export async function installPackage(app: string, name: NativePackage, npm: string, env: Environment): Promise<string> {
  writeFileSync(
    join(app, "package.json"),
    `${JSON.stringify({ private: true, description: "Made by remat setup native." })}\n`,
  );
  const result = await runCommand(
    npm,
    [
      "install",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--loglevel=error",
      `@tensorflow/${name}@${nativeVersion}`,
    ],
    { cwd: app, env },
  );
  const folder = join(app, "node_modules/@tensorflow", name);
  if (result.code !== 0 || !existsSync(join(folder, "binding/tfjs_binding.cc")))
    throw new RematError(
      "NATIVE_NPM",
      `npm could not install @tensorflow/${name}@${nativeVersion}: ${failureText(result)}. Check the network and npm's registry (npm config get registry).`,
    );
  return folder;
}
