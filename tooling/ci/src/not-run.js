import { nativeTests } from "./native-tests.js";

/**
 * Reports which tests were skipped because there is no native backend, and how to run them. Undefined if there is one.
 *
 * @param {string} root
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {string | undefined}
 */
export function notRun(root, env) {
  if (env.NATIVE_APP !== undefined) return undefined;
  const files = nativeTests(root);
  return `Skipped: the tests of ${files.length} files on the native backend (${files.join(", ")}).
  pnpm remat setup native            builds it and prints its folder
  NATIVE_APP=<folder> pnpm vitest run --testNamePattern=tensorflow`;
}
