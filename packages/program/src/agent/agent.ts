import { currentDevice } from "@remat/dispatch-hook";
import { engineInternals } from "@remat/dispatch-hook/engine";
import { RematError } from "@remat/trace";
import { version_core } from "@tensorflow/tfjs-core";
import type { GivenOrder } from "../program-order.js";
import { executeProgram } from "./execute/execute-program.js";
import { watchLeaks } from "./leaks/watch-leaks.js";
import { recordProgram } from "./record/record-program.js";
import { checkVersion } from "./supported-version.js";
import { ThreadReporter } from "./thread-reporter.js";

export { enginePackages } from "./engine-packages.js";

/** What is to hear of models. */
let watching: { layersLoaded(): void; converterLoaded?(graphModel: { readonly prototype: object }): void } | undefined;

const deviceNow = (): string | undefined =>
  engineInternals().backendInstance === undefined ? undefined : currentDevice().device;

/** Begins with what is ordered, in a thread that has just loaded tfjs-core. */
export function startAgent(order: GivenOrder): void {
  const reporter = new ThreadReporter(order.folder, version_core, deviceNow);
  const problem = checkVersion(version_core);
  if (problem !== undefined) {
    reporter.fail(problem);
    // A program that was to keep within a budget must not run without.
    if (order.kind === "exec") throw new RematError("PROGRAM_TENSORFLOW", problem);
    return;
  }
  reporter.write();
  if (order.kind === "record") watching = recordProgram(order, reporter);
  else if (order.kind === "leaks") watching = watchLeaks(reporter);
  else executeProgram(order, reporter);
}

/** Is told that the program has loaded tfjs-layers, too. */
export const layersLoaded = (): void => watching?.layersLoaded();

/** Is told that the program has loaded tfjs-converter, of which this is the class `GraphModel`. */
export const converterLoaded = (graphModel: { readonly prototype: object }): void =>
  watching?.converterLoaded?.(graphModel);
