import { spawn } from "node:child_process";
import { terminal } from "@remat/trace/emit";
import type { ConsoleIo } from "../console-io.js";

/** Opens a file with the system's default application. If that fails, reports it and continues. */
export async function openFile(path: string, io: ConsoleIo): Promise<void> {
  const [command, ...parameters] =
    process.platform === "darwin"
      ? ["open", path]
      : process.platform === "win32"
        ? ["explorer.exe", path]
        : ["xdg-open", path];
  const error = await new Promise<Error | undefined>((resolve) => {
    const child = spawn(command, parameters, { stdio: "ignore", detached: true });
    child.on("error", resolve);
    child.on("spawn", () => {
      child.unref();
      resolve(undefined);
    });
  });
  if (error !== undefined)
    io.stderr.write(terminal`remat: ${path} could not be opened (${error.message}). Open it in a browser.\n`);
}
