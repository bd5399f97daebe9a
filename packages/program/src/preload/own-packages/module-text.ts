import { type JavaScriptCode, javascript } from "@remat/trace/emit";
import type { SharedPackage } from "./shared-package.js";

/** Under which modules that stand for the program's own packages find ours in their thread. */
export const packageRegistry = "remat.program.packages";

/** Returns the source of a module with the exports of a package of ours, which it takes from the thread's registry once what it needs of tfjs is loaded. */
export function moduleText(specifier: string, { exports, peers }: SharedPackage): JavaScriptCode {
  return javascript.lines([
    ...peers.map((peer) => javascript`import ${javascript.string(peer)};`),
    javascript`const ours = globalThis[Symbol.for(${javascript.string(packageRegistry)})](${javascript.string(specifier)});`,
    javascript`export const { ${javascript.list(exports.map(javascript.identifier))} } = ours;`,
  ]);
}
