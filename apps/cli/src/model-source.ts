import { existsSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { RematError } from "@remat/trace";
import { type FileHead, readHead } from "./importers/file-head.js";
import type { Importer, SourceKind } from "./importers/importer.js";
import { importers } from "./importers/importers.js";

/** What the MODEL argument names: plain data, so that every process can be told. */
export interface ModelSource<Kind extends SourceKind = SourceKind> {
  readonly gives: Kind;
  /** The importer's name. */
  readonly importer: string;
  readonly path: string;
  readonly name: string;
}

/**
 * Finds the importer of the file `path`, or of the model in the folder `path`.
 *
 * @throws RematError `MODEL_NOT_FOUND`, `MODEL_UNREADABLE`, `MODEL_UNKNOWN`
 */
export function modelSource(path: string): ModelSource {
  const full = resolve(path);
  if (!existsSync(full)) throw new RematError("MODEL_NOT_FOUND", `${path}: no such file. ${expected()}`);
  if (statSync(full).isDirectory()) {
    for (const entry of ["index.js", "index.mjs", "model.js", "model.json"]) {
      const inner = resolve(full, entry);
      if (existsSync(inner)) return { ...modelSource(inner), name: basename(full) };
    }
    throw new RematError(
      "MODEL_NOT_FOUND",
      `${path}: a folder without index.js, model.js or model.json. Name the file of the model.`,
    );
  }
  const head = headOf(full, path);
  const importer = importers.find((each) => each.recognises(full, head));
  if (importer === undefined)
    throw new RematError("MODEL_UNKNOWN", `${path}: neither a model nor a trace. ${expected()}`);
  return { gives: importer.gives, importer: importer.name, path: full, name: nameOf(full) };
}

function headOf(full: string, path: string): FileHead {
  try {
    return readHead(full);
  } catch (cause) {
    throw new RematError(
      "MODEL_UNREADABLE",
      `${path}: cannot be read (${(cause as Error).message}). Name a file that you may read.`,
      { cause },
    );
  }
}

/** Returns the importer that a source was found by. */
export function importerOf<Kind extends SourceKind>(
  source: Pick<ModelSource<Kind>, "gives" | "importer">,
): Extract<Importer, { readonly gives: Kind }> {
  const importer = importers.find(({ name }) => name === source.importer);
  if (importer?.gives !== source.gives)
    throw new RematError("IMPORTER_UNKNOWN", `there is no importer ${source.importer} of a ${source.gives}`);
  return importer as Extract<Importer, { readonly gives: Kind }>;
}

/** Tells whether a source gives this. */
export function isOf<Kind extends SourceKind>(source: ModelSource, kind: Kind): source is ModelSource<Kind> {
  return source.gives === kind;
}

function nameOf(path: string): string {
  const name = basename(path);
  const ending = importers.map((importer) => importer.ending.exec(name)?.index ?? name.length);
  return name.slice(0, Math.min(...ending));
}

/** Returns for people which files give one of `kinds`. */
export function describeKinds(kinds: readonly SourceKind[]): string {
  return importers
    .filter(({ gives }) => kinds.includes(gives))
    .map(({ example, what }) => `${example} (${what})`)
    .join(", or ");
}

const expected = (): string => `Expected ${describeKinds(["model", "run"])}.`;
