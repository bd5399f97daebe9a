/**
 * The first JavaScript block of a README: the example that a stranger would try.
 *
 * @param {string} readme
 * @returns {string | undefined}
 */
export function readmeExample(readme) {
  return /^```js\r?\n([^]*?)^```/m.exec(readme)?.[1];
}
