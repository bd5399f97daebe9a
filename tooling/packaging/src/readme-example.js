/**
 * The first JavaScript block of a README: the example that a stranger would try.
 *
 * @param {string} readme
 * @returns {string | undefined}
 */
export function readmeExample(readme) {
  return /^```js\r?\n([^]*?)^```/m.exec(readme)?.[1];
}

/**
 * The packages that a README's first `npm install` names.
 *
 * @param {string} readme
 * @returns {readonly string[]}
 */
export function installed(readme) {
  return /^npm install (.+)$/m.exec(readme)?.[1].trim().split(/\s+/) ?? [];
}
