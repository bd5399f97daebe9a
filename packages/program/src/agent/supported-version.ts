/** The patched internals have been the same since this minor version of tfjs 4. */
const oldestMinor = 17;

/** Explains why a version of tfjs-core is not supported. Returns undefined if it is. */
export function checkVersion(version: string): string | undefined {
  const [major, minor = 0] = version.split(".").map(Number);
  if (major === 4 && minor >= oldestMinor) return undefined;
  return `the program loads tfjs-core ${version}, which is not supported. Install TensorFlow.js 4.${oldestMinor} or a later 4.x`;
}
