/**
 * Fields about the source repository in every published manifest, from the root's package.json, the only file that
 * names it. Empty if that names none.
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
