import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { workspaceFolders } from "../../testkit/workspace-folders.js";
import { commentFigures } from "../prose/check-comments.js";
import { checkPage } from "../prose/check-page.js";
import { root } from "./lint-fixtures.js";

const files = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).split("\n");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

describe("prose of pages", () => {
  const pages = files.filter((file) => file.endsWith(".md") && !/^(?:etc\/|tooling\/.*\/test\/)/.test(file));

  it.each(pages)("reads well: %s", async (page) => {
    expect(await checkPage(read(page))).toEqual([]);
  });

  it.each([
    ["Of a run it is said.", /^1: Start with the subject/],
    ["What it holds tells the command.", /Start with the subject/],
    ["The plan keeps 70 % of it.", /Write 70%/],
    ["Results are equal to the bit.", /bitwise identical/],
    ["One goes up; two go down; three stay.", /semicolons/],
    [`Words ${"and words ".repeat(20)}.\n\n`.repeat(3), /over 35 words/],
  ])("is rejected: %s", async (text, message) => {
    expect((await checkPage(text)).join("\n")).toMatch(message);
  });

  it.each(["What is peak memory?", "Of course it is.", "By default it is one.", "It needs `70 %` of it; no more."])(
    "is accepted: %s",
    async (text) => {
      expect(await checkPage(text)).toEqual([]);
    },
  );
});

describe("comments of sources", () => {
  const folders = workspaceFolders(root, ["packages", "apps", "tooling"]);

  it.each(folders)("read well: %s", (folder) => {
    const sources = files.filter(
      (file) => file.startsWith(`${folder}/`) && /\/(?:src|page|remat)\/.*\.(?:ts|js|py)$/.test(file),
    );
    expect(commentFigures(sources.map(read))).toEqual([]);
  });
});
