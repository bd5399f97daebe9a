/**
 * What every published manifest says of where its source is, from the root's package.json, which alone names it. Nothing where that names nothing.
 *
 * @param {{ repository?: string, homepage?: string, bugs?: unknown }} rootManifest
 * @param {string} directory of the package, from the root: `packages/trace`
 * @returns {Readonly<Record<string, unknown>>}
 */
export function repositoryFields({ repository, homepage, bugs }, directory) {
  if (repository === undefined) return {};
  return {
    repository: { type: "git", url: repository, directory },
    ...(homepage !== undefined && { homepage }),
    ...(bugs !== undefined && { bugs }),
  };
}
