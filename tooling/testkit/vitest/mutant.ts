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
 * Plugins that give tests a source with the change described by `REMAT_MUTANT`, as JSON. It can be empty and change
 * between runs. Without it there are no plugins. The file itself is not modified, so nothing has to be restored however
 * the run ends.
 */
export function mutantPlugins(): Pick<TestProjectInlineConfiguration, "plugins"> {
  if (process.env.REMAT_MUTANT === undefined) return {};
  return {
    plugins: [
      {
        name: "remat-mutant",
        enforce: "pre",
        load: (id: string) => {
          const mutant = mutantOf(id);
          return mutant && sourceWith(mutant);
        },
        // vitest's module cache is keyed by file contents, which do not include the change.
        configureVitest: ({ experimental_defineCacheKeyGenerator: defineKey }) =>
          defineKey(({ id }) => (mutantOf(id) ? false : undefined)),
      },
    ],
  };
}

function mutantOf(id: string): FileMutant | undefined {
  const { REMAT_MUTANT: given } = process.env;
  if (given === undefined || given === "") return undefined;
  const mutant = JSON.parse(given) as FileMutant;
  return id.split("?")[0] === mutant.file ? mutant : undefined;
}

function sourceWith({ file, start, end, before, text }: FileMutant): string {
  const source = readFileSync(file, "utf8");
  if (source.slice(start, end) !== before)
    throw new Error(`${file} has changed since the mutant was made. Start again.`);
  return source.slice(0, start) + text + source.slice(end);
}
