import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root: string = fileURLToPath(new URL("../../../", import.meta.url));

export interface Finding {
  readonly path: string;
  readonly rule: string;
  readonly message: string;
}

/**
 * Findings of the linter, with the workspace's own configuration, on `files` (text by path), in a workspace that
 * contains nothing else.
 */
export function lintFiles(files: Readonly<Record<string, string>>): readonly Finding[] {
  const folder = mkdtempSync(join(tmpdir(), "remat-lint-"));
  try {
    for (const file of [
      ".oxlintrc.json",
      "tsconfig.base.json",
      "tooling/lint/plugin.js",
      "tooling/lint/aten-names.js",
      "tooling/lint/generated-text.js",
      "tooling/lint/import-table.js",
      "tooling/lint/own-files.js",
      "tooling/lint/prose/words.js",
    ])
      cpSync(join(root, file), join(folder, file));
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const oxlint = join(root, "node_modules/oxlint/bin/oxlint");
    const run = spawnSync(process.execPath, [oxlint, "--format=json", "packages", "apps"], {
      cwd: folder,
      encoding: "utf8",
    });
    if (run.status !== 0 && run.status !== 1) throw new Error(`oxlint failed: ${run.stdout}${run.stderr}`);
    const { diagnostics } = JSON.parse(run.stdout) as {
      diagnostics: readonly { code: string; message: string; filename: string }[];
    };
    return diagnostics.map(({ code, message, filename }) => ({
      path: filename.replaceAll("\\", "/"),
      rule: code,
      message,
    }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
