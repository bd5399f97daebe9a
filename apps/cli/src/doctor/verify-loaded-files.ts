import { join, relative } from "node:path";
import { backendPackages, backendPlaces, cacheFolder } from "@remat/dispatch-hook/backends/node";
import type { OutputDocument } from "@remat/reporting/formats";
import { type CacheItem, verifyCache } from "../native/index.js";

/** Result of `remat doctor --verify`. */
export interface Verification {
  readonly cache: string;
  readonly items: readonly CacheItem[];
  /** Modules of the user's own that take precedence over those in the cache and cannot be verified. */
  readonly own: readonly string[];
}

/** Hashes everything that is loaded from the cache, as seen from the folder `from`, without loading it. */
export async function verifyLoadedFiles(
  from: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Verification> {
  const cache = cacheFolder(env);
  const native = backendPackages().filter((each) => each.package.built !== undefined);
  const places = native.flatMap((each) => backendPlaces(each.package.name, from));
  const own = places.filter((path) => relative(join(cache, "native"), path).startsWith(".."));
  return { cache, items: await verifyCache(env), own };
}

export const countProblems = ({ items }: Verification): number =>
  items.reduce((sum, { problems }) => sum + problems.length, 0);

/** Number of problems to name for each folder. */
const namedProblems = 10;

/**
 * Returns a summary line, a line for each folder, and a line for each item that changed after the build. The records
 * have one row for each of these items.
 */
export function verificationDocument(found: Verification): OutputDocument {
  const lines = linesOf(found);
  return {
    parts: () => [
      { kind: "text", lines: [verdictOf(found)] },
      ...(lines.length === 0 ? [] : [{ kind: "text" as const, lines }]),
    ],
    records: () => ({
      columns: ["folder", "files", "path", "problem"],
      rows: found.items.flatMap(({ folder, files, problems }) =>
        problems.length === 0
          ? [[folder, files, undefined, undefined]]
          : problems.map(({ path, what }) => [folder, files, path, what]),
      ),
    }),
    value: () => found,
  };
}

function linesOf({ items, own }: Verification): readonly string[] {
  return [
    ...items.flatMap(({ folder, files, problems }) => [
      `${problems.length === 0 ? "ok     " : "not ok "} ${folder} (${count(files, "file")})`,
      ...problems
        .slice(0, namedProblems)
        .map(({ path, what }) => `          ${path === folder ? "the folder" : relative(folder, path)} ${what}`),
      ...(problems.length > namedProblems
        ? [`          and ${problems.length - namedProblems} more: --format json lists all`]
        : []),
    ]),
    ...own.map((path) => `unknown ${path} (your own, tried before the cache)`),
  ];
}

function verdictOf(found: Verification): string {
  const { cache, items } = found;
  const problems = countProblems(found);
  if (items.length === 0) return `Nothing is built in ${cache}, so remat loads nothing from it.`;
  if (problems > 0)
    return `${count(problems, "difference")} from the build in ${cache}. Build it again with remat setup native --force.`;
  const files = items.reduce((sum, item) => sum + item.files, 0);
  return `${cache} is exactly as remat built it (${count(files, "file")}), and no other user can write to it.`;
}

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;
