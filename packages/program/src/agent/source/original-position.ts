import { findSourceMap, SourceMap } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ProgramIo } from "../../outside/program-io.js";

/** A place in a file. Line and column from 1. */
export interface SourcePosition {
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

const io = new ProgramIo({});
/** For each path of running code: its source map, or undefined if it has none. */
const maps = new Map<string, SourceMap | undefined>();

/**
 * Returns the position in the original source, from the source map that Node has (tsx, `--enable-source-maps`) or that
 * the file names. Without a map, returns the same position.
 */
export function originalPosition(path: string, line: number, column: number): SourcePosition {
  try {
    return mappedPosition(path, line, column) ?? { path, line, column };
  } catch {
    // Node cannot read the map, or the map names a file that cannot be a path.
    maps.set(path, undefined);
    return { path, line, column };
  }
}

function mappedPosition(path: string, line: number, column: number): SourcePosition | undefined {
  if (!maps.has(path)) maps.set(path, findSourceMap(path) ?? mapBeside(path));
  const entry = maps.get(path)?.findEntry(line - 1, column - 1);
  if (entry === undefined || !("originalSource" in entry) || typeof entry.originalSource !== "string") return undefined;
  const source = entry.originalSource;
  return {
    path: source.startsWith("file:") ? fileURLToPath(source) : resolve(dirname(path), source),
    line: entry.originalLine + 1,
    column: entry.originalColumn + 1,
  };
}

function mapBeside(path: string): SourceMap | undefined {
  try {
    const [, url] = [...(io.readOptional(path) ?? "").matchAll(/^\/\/[#@] sourceMappingURL=(\S+)\s*$/gm)].at(-1) ?? [];
    if (url === undefined) return undefined;
    const inline = /^data:application\/json[^,]*;base64,(.*)$/.exec(url)?.[1];
    const text =
      inline === undefined
        ? (io.readOptional(resolve(dirname(path), decodeURIComponent(url))) ?? "")
        : Buffer.from(inline, "base64").toString();
    const payload = JSON.parse(text) as ConstructorParameters<typeof SourceMap>[0];
    const base = inline === undefined ? dirname(resolve(dirname(path), decodeURIComponent(url))) : dirname(path);
    const sources = payload.sources.map((source) => resolve(base, payload.sourceRoot ?? "", source));
    return new SourceMap({ ...payload, sources, sourceRoot: "" });
  } catch {
    // The map is missing or broken, so the position in the running code is used.
    return undefined;
  }
}
