import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

/** The folder of the golden files to test: `REMAT_GOLDENS`, or the project's own copy. */
export const goldensFolder: string =
  process.env["REMAT_GOLDENS"] ?? fileURLToPath(new URL("../goldens", import.meta.url));

export interface GoldenFile {
  /** Without folder and extension: `sac_03_mlp`. */
  readonly name: string;
  readonly path: string;
}

/** Every golden file of the folder (`.json` and `.json.gz`), by name. */
export function goldenFiles(folder: string = goldensFolder): readonly GoldenFile[] {
  if (!existsSync(folder))
    throw new Error(`REMAT_GOLDENS: there is no folder ${folder}. Name one that holds golden files (.json, .json.gz).`);
  return readdirSync(folder)
    .filter((file) => /\.json(\.gz)?$/.test(file))
    .sort()
    .map((file) => ({ name: basename(file).replace(/\.json(\.gz)?$/, ""), path: join(folder, file) }));
}

/** Content of a golden file. Its `schema` shows how to read it. */
export interface Golden {
  readonly schema: string;
  // biome-ignore lint/suspicious/noExplicitAny: goldens are data of several schemas
  readonly [field: string]: any;
}

export function readGolden(file: GoldenFile): Golden {
  const bytes = readFileSync(file.path);
  return JSON.parse((file.path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8")) as Golden;
}

/** The golden files whose schema is `schema`. */
export function goldensOf(
  schema: string,
  folder?: string,
): readonly { readonly file: GoldenFile; readonly golden: Golden }[] {
  return goldenFiles(folder)
    .map((file) => ({ file, golden: readGolden(file) }))
    .filter(({ golden }) => golden.schema === schema);
}
