import type { SharedPackage } from "./shared-package.js";

/** Under which modules that stand for the program's own packages find ours in their thread. */
export const packageRegistry = "remat.program.packages";

/** Returns the source of a module with the exports of a package of ours, which it takes from the thread's registry once what it needs of tfjs is loaded. */
export function moduleText(specifier: string, { exports, peers }: SharedPackage): string {
  return [
    ...peers.map((peer) => `import ${JSON.stringify(peer)};`),
    `const ours = globalThis[Symbol.for(${JSON.stringify(packageRegistry)})](${JSON.stringify(specifier)});`,
    `export const { ${exports.join(", ")} } = ours;`,
  ].join("\n");
}
