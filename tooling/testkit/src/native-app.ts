/**
 * Folder in which tfjs-node is installed with its native addon, from the environment variable `NATIVE_APP`. Undefined:
 * there is none, and tests on the native backend are skipped (`it.runIf(nativeApp() !== undefined)`). CI fails if a
 * test is skipped in every stage.
 */
export function nativeApp(): string | undefined {
  const { NATIVE_APP: folder } = process.env;
  return folder === undefined || folder === "" ? undefined : folder;
}
