import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from "@microsoft/api-extractor";
import { importedEntries, root } from "./workspace.js";

const silent = { logLevel: ExtractorLogLevel.None, addToApiReportFile: false };
const noted = { logLevel: ExtractorLogLevel.None, addToApiReportFile: true };

/**
 * An entry point and its built declarations:
 * `{ name: "trace-emit", specifier: "@remat/trace/emit", types: "dist/emit/index.d.ts" }`.
 *
 * @typedef {object} EntryPoint
 * @property {string} name of its report
 * @property {string} specifier for imports
 * @property {string} types
 */

/**
 * Returns the entry points of a package.
 *
 * @param {import("./workspace.js").Package} item
 * @returns {readonly EntryPoint[]}
 */
export function entryPoints(item) {
  return importedEntries(item).map(({ entry, target }) => ({
    name: entry === "." ? item.shortName : `${item.shortName}-${entry.slice(2).replaceAll("/", "-")}`,
    specifier: `${item.name}${entry.slice(1)}`,
    types: target.types,
  }));
}

/**
 * Reads the built declarations of all entry points into one compiler program, because they depend on each other and on
 * the same libraries.
 *
 * @param {readonly import("./workspace.js").Package[]} packages
 * @returns {CompilerState}
 * @throws if a package has not been built
 */
export function readDeclarations(packages) {
  const files = packages.flatMap((item) => entryPoints(item).map((entry) => ({ item, types: typesOf(item, entry) })));
  const [{ item, types }, ...others] = files;
  return CompilerState.create(extractorConfig(item, types, tmpdir()), {
    additionalEntryPoints: others.map((other) => other.types),
  });
}

/**
 * @param {import("./workspace.js").Package} item
 * @param {{ types: string }} entry
 */
function typesOf(item, entry) {
  const types = join(item.folder, entry.types);
  if (!existsSync(types)) throw new Error(`${types} is not there: build first`);
  return types;
}

/**
 * @param {import("./workspace.js").Package} item
 * @param {string} types the built declarations of an entry point
 * @param {string} reportFolder
 */
function extractorConfig(item, types, reportFolder) {
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: item.folder,
      mainEntryPointFilePath: types,
      newlineKind: "lf",
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            target: "ES2022",
            lib: ["ES2023", "DOM"],
            module: "NodeNext",
            moduleResolution: "NodeNext",
            strict: true,
            skipLibCheck: true,
            types: [],
          },
          files: [types],
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: "report.api.md",
        reportFolder,
        reportTempFolder: join(reportFolder, "temp"),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: silent },
        extractorMessageReporting: { default: silent, "ae-forgotten-export": noted },
        tsdocMessageReporting: { default: silent },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(item.folder, "package.json"),
  });
}

/**
 * Returns the public API of an entry point as text, from its built declarations.
 *
 * @param {import("./workspace.js").Package} item
 * @param {EntryPoint} entry
 * @param {CompilerState} compilerState of {@link readDeclarations}
 */
export async function apiReport(item, entry, compilerState) {
  const folder = await mkdtemp(join(tmpdir(), "remat-api-"));
  try {
    Extractor.invoke(extractorConfig(item, typesOf(item, entry), folder), {
      localBuild: true,
      compilerState,
      messageCallback: (message) => void (message.handled = true),
    });
    const report = await readFile(join(folder, "report.api.md"), "utf8");
    return report.replace(/^## API Report File for .*$/m, `## API of \`${entry.specifier}\``);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Folder of the stored reports. */
export const reportsFolder = join(root, "etc");

/**
 * Compares an entry point's API with its stored report, or stores it.
 *
 * @param {import("./workspace.js").Package} item
 * @param {EntryPoint} entry
 * @param {{ update: boolean, declarations: CompilerState }} options
 * @returns {Promise<string | undefined>} the difference
 */
export async function checkApi(item, entry, { update, declarations }) {
  const path = join(reportsFolder, `${entry.name}.api.md`);
  const kept = await readFile(path, "utf8").catch(() => undefined);
  const report = await apiReport(item, entry, declarations);
  if (report === kept) return undefined;
  if (update) {
    await writeFile(path, report);
    return undefined;
  }
  return kept === undefined ? `etc/${entry.name}.api.md is not there` : firstDifference(kept, report);
}

/**
 * @param {string} kept
 * @param {string} found
 */
export function firstDifference(kept, found) {
  const before = kept.split("\n");
  const after = found.split("\n");
  const line = before.findIndex((text, i) => text !== after[i]);
  const at = line < 0 ? before.length : line;
  return `line ${at + 1} was ${JSON.stringify(before[at] ?? "")} and is now ${JSON.stringify(after[at] ?? "")}`;
}
