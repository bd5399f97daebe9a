import { readFileSync } from "node:fs";
import type { TestProjectInlineConfiguration } from "vitest/config";

/** A change made by `mutate/mutants.js`. `file` is absolute. */
interface FileMutant {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly text: string;
}

/**
 * Plugins that give tests a source with the change described by `REMAT_MUTANT`, as JSON. None without it. The file
 * itself is not modified, so nothing has to be restored however the run ends.
 */
export function mutantPlugins(): Pick<TestProjectInlineConfiguration, "plugins"> {
  const { REMAT_MUTANT: given } = process.env;
  if (given === undefined) return {};
  const { file, start, end, before, text } = JSON.parse(given) as FileMutant;
  const isMutated = (id: string): boolean => id.split("?")[0] === file;
  const mutated = (): string => {
    const source = readFileSync(file, "utf8");
    if (source.slice(start, end) !== before)
      throw new Error(`${file} has changed since the mutant was made. Start again.`);
    return source.slice(0, start) + text + source.slice(end);
  };
  return {
    plugins: [
      {
        name: "remat-mutant",
        enforce: "pre",
        load: (id: string) => (isMutated(id) ? mutated() : undefined),
        // vitest's module cache is keyed by file contents, which do not include the change.
        configureVitest: ({ experimental_defineCacheKeyGenerator: defineKey }) =>
          defineKey(({ id }) => (isMutated(id) ? false : undefined)),
      },
    ],
  };
}
