import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import type { RematError } from "@remat/trace";
import { readModelFile } from "./read-model-file.js";

/** Files that contain the weights of one group of a manifest, one after another. */
export interface WeightShards {
  readonly paths: readonly unknown[];
  /** Total bytes of its weights, or undefined if the manifest does not list them. */
  readonly bytes: number | undefined;
}

/** The largest size that fits one array. */
const mostBytes = 2 ** 32;
const mostShown = 80;

/**
 * The weight files that a `model.json` names. A model may come from an untrusted source, so access is limited to its
 * folder. The real path of each file, with links followed, must be in the folder of `model.json`. If `model.json` is
 * itself a link, as in the cache of Hugging Face, the folder of its target is also allowed.
 */
export class WeightFiles {
  private readonly groups: readonly WeightShards[];
  private readonly refuse: (what: string) => RematError;
  readonly names: readonly string[];
  /** Names of missing files. */
  readonly missing: readonly string[];
  private readonly folder: string;

  /** @throws the error of `refuse` for a name that leads out of the folder */
  constructor(model: string, groups: readonly WeightShards[], refuse: (what: string) => RematError) {
    this.groups = groups;
    this.refuse = refuse;
    this.folder = dirname(model);
    const folders = [realpathSync(this.folder), dirname(realpathSync(model))];
    this.names = groups.flatMap(({ paths }) => paths.map((name) => this.checkedName(name)));
    this.missing = this.names.filter((name) => !existsSync(join(this.folder, name)));
    for (const name of this.names) {
      if (this.missing.includes(name)) continue;
      const real = realpathSync(join(this.folder, name));
      if (!folders.some((folder) => real.startsWith(folder.endsWith(sep) ? folder : folder + sep)))
        throw this.refuse(
          `its weight file ${shown(name)} is a link to ${shown(real)}, outside the model's folder. If you trust the file, copy it into the folder`,
        );
    }
  }

  /**
   * Checks that the files of each group have the total size of its weights, before any is read.
   *
   * @throws the error of `refuse`
   */
  checkSizes(): void {
    let total = 0;
    for (const { paths, bytes } of this.groups) {
      const found = (paths as readonly string[]).reduce((sum, name) => sum + statSync(join(this.folder, name)).size, 0);
      total += found;
      if (bytes !== undefined && found !== bytes)
        throw this.refuse(
          `${paths.slice(0, 3).join(", ")}${paths.length > 3 ? `, … (${paths.length} files)` : ""}: ` +
            `${found} bytes, expected ${bytes} from the manifest. ` +
            "Copy the whole files, or convert the model again with tensorflowjs_converter",
        );
    }
    if (total > mostBytes)
      throw this.refuse(`its weight files have ${total} bytes, and the limit is ${mostBytes}. Use a smaller model`);
  }

  /** @throws RematError `MODEL_UNREADABLE` for a device or a pipe */
  read(name: string): Uint8Array {
    const path = join(this.folder, name);
    return readModelFile(path, statSync(path).size);
  }

  private checkedName(name: unknown): string {
    const what = whatIsWrong(name);
    if (what === undefined) return name as string;
    throw this.refuse(
      `its manifest names the weight file ${shown(name)}, which is ${what}. Use a name inside the model's folder, such as "group1-shard1of1.bin"`,
    );
  }
}

function whatIsWrong(name: unknown): string | undefined {
  if (typeof name !== "string") return "not a text";
  if (name === "") return "empty";
  if (name.length > 4096) return "too long";
  if (name.includes("\0")) return "not a name (it has a NUL)";
  if (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(name)) return "a URL or a Windows path";
  if (name.includes("\\")) return "a Windows path";
  if (name.startsWith("/")) return "an absolute path";
  return name.split("/").includes("..") ? "outside the folder" : undefined;
}

function shown(name: unknown): string {
  const text = JSON.stringify(name) ?? "undefined";
  return text.length > mostShown ? `${text.slice(0, mostShown)}…` : text;
}
