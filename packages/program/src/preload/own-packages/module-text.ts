import { type JavaScriptCode, javascript } from "@remat/trace/emit";
import type { SharedPackage } from "./shared-package.js";

/** Global name under which the stand-ins for the program's own packages find the agent's copies in their thread. */
export const packageRegistry = "remat.program.packages";

/**
 * Returns the source of a module with the exports of one of remat's packages. The module takes them from the thread's
 * registry after loading the parts of tfjs that the package needs.
 */
export function moduleText(specifier: string, { exports, peers }: SharedPackage): JavaScriptCode {
  return javascript.lines([
    ...peers.map((peer) => javascript`import ${javascript.string(peer)};`),
    javascript`const ours = globalThis[Symbol.for(${javascript.string(packageRegistry)})](${javascript.string(specifier)});`,
    javascript`export const { ${javascript.list(exports.map(javascript.identifier))} } = ours;`,
  ]);
}
