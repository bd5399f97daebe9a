import { existsSync, type Stats, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { RematError } from "@remat/trace";
import { shell } from "@remat/trace/emit";
import { foreignCompression } from "./foreign-compression.js";
import { readHead } from "./importers/file-head.js";
import type { Importer, SourceKind } from "./importers/importer.js";
import { importers } from "./importers/importers.js";
import { UsageError } from "./usage-error.js";

/** The MODEL argument as plain data, which can be sent to any process. */
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
  if (path === "") throw new UsageError(`the model's name is empty. ${expected()}`);
  const full = resolve(path);
  const stats = reading(path, () => statSync(full));
  if (stats.isDirectory()) {
    const inner = modelFile(full);
    if (inner !== full) return { ...modelSource(inner), name: basename(full) };
    throw new RematError(
      "MODEL_NOT_FOUND",
      `${path}: a folder without index.js, model.js or model.json. Name the model's file.`,
    );
  }
  if (isDevice(stats)) throw new RematError("MODEL_UNREADABLE", `${path}: a device or a socket. Name a regular file.`);
  const head = reading(path, () => readHead(full));
  if (policyFormat.test(head.text))
    throw new RematError(
      "MODEL_POLICY",
      `${path}: a checkpointing policy, not a model or run. Name the recorded step: ` +
        `${shell`remat compare step.json --checkpoint ${shell.path(path)}`}. In Python use remat.apply.`,
    );
  const importer = importers.find((each) => each.recognises(full, head));
  if (importer === undefined) throw new RematError("MODEL_UNKNOWN", `${path}: ${whatIsUnknown(path)}`);
  return { gives: importer.gives, importer: importer.name, path: full, name: nameOf(full) };
}

/** Any version of the output of `--pytorch-policy`. */
const policyFormat = /^\s*\{\s*"format":\s*"remat-pytorch-policy\//;

/** Returns the file to read for a target: for a folder, the model in it, if there is one. */
export function modelFile(path: string): string {
  const inner = ["index.js", "index.mjs", "model.js", "model.json"].map((entry) => resolve(path, entry));
  return inner.find((entry) => existsSync(entry)) ?? path;
}

/** Returns whether a path is an endless input. A regular file and a pipe, which can be read once, are not. */
function isDevice(stats: Stats): boolean {
  return !stats.isFile() && !stats.isDirectory() && !stats.isFIFO();
}

function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (["ENOENT", "ENOTDIR"].includes((cause as NodeJS.ErrnoException).code ?? ""))
      throw new RematError("MODEL_NOT_FOUND", `${path}: no such file. Check the path.`, { cause });
    throw new RematError(
      "MODEL_UNREADABLE",
      `${path}: cannot be read (${(cause as Error).message}). Check its permissions.`,
      { cause },
    );
  }
}

export function importerOf<Kind extends SourceKind>(
  source: Pick<ModelSource<Kind>, "gives" | "importer">,
): Extract<Importer, { readonly gives: Kind }> {
  const importer = importers.find(({ name }) => name === source.importer);
  if (importer?.gives !== source.gives)
    throw new RematError(
      "IMPORTER_UNKNOWN",
      `no importer ${source.importer} for a ${source.gives}. Use the same remat release for all processes.`,
    );
  return importer as Extract<Importer, { readonly gives: Kind }>;
}

export function isOf<Kind extends SourceKind>(source: ModelSource, kind: Kind): source is ModelSource<Kind> {
  return source.gives === kind;
}

function nameOf(path: string): string {
  const name = basename(path);
  const ending = importers.map((importer) => importer.ending.exec(name)?.index ?? name.length);
  return name.slice(0, Math.min(...ending));
}

/** Describes the files that provide one of `kinds`. */
export function describeKinds(kinds: readonly SourceKind[]): string {
  return importers
    .filter(({ gives }) => kinds.includes(gives))
    .map(({ example, what }) => `${example} (${what})`)
    .join(", ");
}

function whatIsUnknown(path: string): string {
  const ending = foreignCompression(path);
  return ending === undefined
    ? `not a model or a trace. ${expected()}`
    : `compression as ${ending} is not supported. Decompress the file, or use gzip.`;
}

const expected = (): string => `Expected ${describeKinds(["model", "run"])}.`;
