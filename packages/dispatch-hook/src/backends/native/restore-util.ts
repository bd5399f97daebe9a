/**
 * Puts back for good what tfjs-node 4.22.0 calls of `node:util` and Node 23 removed. Nothing outside it is named in it, so that its text can be run
 * by a process that must load nothing of ours.
 */
export function restoreUtil(): void {
  // Not by an import: the object that this belongs to is loaded in browsers, too.
  const util = process.getBuiltinModule("node:util") as unknown as Record<string, unknown>;
  util["isNullOrUndefined"] ??= (value: unknown) => value === null || value === undefined;
  util["isArray"] ??= Array.isArray;
}
