import { nativeTests } from "./native-tests.js";

/**
 * What `pnpm test` has not run for lack of the native backend, and what to do about it; undefined where it is there.
 *
 * @param {string} root
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {string | undefined}
 */
export function notRun(root, env) {
  if (env.NATIVE_APP !== undefined) return undefined;
  const files = nativeTests(root);
  return `NOT RUN: what ${files.length} files test on the native backend (${files.join(", ")}).
  remat setup native      builds it and tells its folder; from a clone: pnpm remat setup native
  NATIVE_APP=<folder> pnpm test --testNamePattern=tensorflow`;
}
