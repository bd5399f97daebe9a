import { readFileSync } from "node:fs";
import { findSourceMap, SourceMap } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** A place in a file; line and column from 1. */
export interface SourcePosition {
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

/** By path of what runs; undefined for what has no map. */
const maps = new Map<string, SourceMap | undefined>();

/** Returns where what runs was written: by the source map that Node knows (tsx, `--enable-source-maps`), or that the file names; else the same place. */
export function originalPosition(path: string, line: number, column: number): SourcePosition {
  if (!maps.has(path)) maps.set(path, findSourceMap(path) ?? mapBeside(path));
  const entry = maps.get(path)?.findEntry(line - 1, column - 1);
  if (entry === undefined || !("originalSource" in entry) || typeof entry.originalSource !== "string")
    return { path, line, column };
  const source = entry.originalSource;
  return {
    path: source.startsWith("file:") ? fileURLToPath(source) : resolve(dirname(path), source),
    line: entry.originalLine + 1,
    column: entry.originalColumn + 1,
  };
}

function mapBeside(path: string): SourceMap | undefined {
  try {
    const [, url] = [...readFileSync(path, "utf8").matchAll(/^\/\/[#@] sourceMappingURL=(\S+)\s*$/gm)].at(-1) ?? [];
    if (url === undefined) return undefined;
    const inline = /^data:application\/json[^,]*;base64,(.*)$/.exec(url)?.[1];
    const text =
      inline === undefined
        ? readFileSync(resolve(dirname(path), decodeURIComponent(url)), "utf8")
        : Buffer.from(inline, "base64").toString();
    const payload = JSON.parse(text) as ConstructorParameters<typeof SourceMap>[0];
    const base = inline === undefined ? dirname(resolve(dirname(path), decodeURIComponent(url))) : dirname(path);
    const sources = payload.sources.map((source) => resolve(base, payload.sourceRoot ?? "", source));
    return new SourceMap({ ...payload, sources, sourceRoot: "" });
  } catch {
    // A map that is missing or broken: the place in what runs is told.
    return undefined;
  }
}
