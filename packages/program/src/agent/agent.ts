import { currentDevice } from "@remat/dispatch-hook";
import { engineInternals } from "@remat/dispatch-hook/engine";
import { RematError } from "@remat/trace";
import { version_core } from "@tensorflow/tfjs-core";
import type { ProgramIo } from "../outside/program-io.js";
import type { GivenOrder } from "../program-order.js";
import { executeProgram } from "./execute/execute-program.js";
import { watchLeaks } from "./leaks/watch-leaks.js";
import { recordProgram } from "./record/record-program.js";
import { ThreadReporter } from "./thread-reporter.js";

export { enginePackages } from "./engine-packages.js";

/** Called when layers and converted models become available. */
let watching: { layersLoaded(): void; converterLoaded?(graphModel: { readonly prototype: object }): void } | undefined;

function deviceNow(): string | undefined {
  try {
    return engineInternals().backendInstance === undefined ? undefined : currentDevice().device;
  } catch {
    // A backend that the program has just removed, or an unknown one.
    return undefined;
  }
}

/** The patched internals have been the same since this minor version of tfjs 4. */
const oldestMinor = 17;

/**
 * Starts executing an order in a thread that has just loaded tfjs-core.
 *
 * @throws RematError if a program cannot be executed as requested, in which case it must not run
 */
export function startAgent(order: GivenOrder, io: ProgramIo): void {
  const reporter = new ThreadReporter(io, version_core, deviceNow);
  const problem = checkVersion(version_core);
  if (problem !== undefined) {
    reporter.fail(problem);
    // A program that should stay within a budget must not run without it.
    if (order.kind === "exec") throw new RematError("PROGRAM_TENSORFLOW", problem);
    return;
  }
  reporter.write();
  try {
    if (order.kind === "record") watching = recordProgram(order, reporter);
    else if (order.kind === "leaks") watching = watchLeaks(order, reporter);
    else executeProgram(order, reporter);
  } catch (error) {
    if (order.kind === "exec" && error instanceof RematError) throw error;
    reporter.broke(error);
  }
}

/** Called when the program has also loaded tfjs-layers. */
export const layersLoaded = (): void => watching?.layersLoaded();

/** Called when the program has loaded tfjs-converter, with its class `GraphModel`. */
export const converterLoaded = (graphModel: { readonly prototype: object }): void =>
  watching?.converterLoaded?.(graphModel);

/** Explains why a version of tfjs-core is not supported. Returns undefined if it is. */
function checkVersion(version: string): string | undefined {
  const [major, minor = 0] = version.split(".").map(Number);
  if (major === 4 && minor >= oldestMinor) return undefined;
  return `the program loads tfjs-core ${version}, which is not supported. Install TensorFlow.js 4.${oldestMinor} or a later 4.x`;
}
