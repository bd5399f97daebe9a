/**
 * Restores functions of `node:util` that tfjs-node 4.22.0 calls and Node 23 removed. It refers to nothing outside of
 * itself, so that its source text can run in a process that loads none of our code.
 */
export function restoreUtil(): void {
  // Not an import, because browsers load the object that contains this.
  const util = process.getBuiltinModule("node:util") as unknown as Record<string, unknown>;
  util["isNullOrUndefined"] ??= (value: unknown) => value === null || value === undefined;
  util["isArray"] ??= Array.isArray;
}
