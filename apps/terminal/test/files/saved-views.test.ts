import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { SavedViews } from "../../src/files/saved-views.js";

const folder = mkdtempSync(join(tmpdir(), "remat-state-"));
const made = [folder];
afterEach(() => {
  for (const path of made) rmSync(path, { recursive: true, force: true });
});

describe("state kept between two runs", () => {
  it("belongs to one trace, and is in the state folder", () => {
    const saved = new SavedViews({ XDG_STATE_HOME: folder });
    saved.save("/a/run.remat.jsonl", "run", { view: "memory", views: { tradeOff: { budgetShare: 0.3 } } });
    saved.save("/b/run.remat.jsonl", "run", { view: "ops" });
    const again = new SavedViews({ XDG_STATE_HOME: folder });
    expect(again.load("/a/run.remat.jsonl")).toEqual({ view: "memory", views: { tradeOff: { budgetShare: 0.3 } } });
    expect(again.load("/b/run.remat.jsonl")).toEqual({ view: "ops" });
    expect(again.load("/c")).toEqual({});
    expect(readdirSync(join(folder, "remat", "views"))).toHaveLength(2);
  });

  it("has the colours that were chosen, whatever trace is open", () => {
    const saved = new SavedViews({ XDG_STATE_HOME: folder });
    expect(saved.theme()).toBeUndefined();
    saved.saveTheme("light");
    expect(new SavedViews({ XDG_STATE_HOME: folder }).theme()).toBe("light");
  });

  it("lists what was opened last and is still there, each once", () => {
    const saved = new SavedViews({ HOME: folder, XDG_STATE_HOME: "relative" });
    const path = join(folderOf(), "run.remat.jsonl");
    writeFileSync(path, "");
    for (const name of [path, "/gone", path]) saved.save(name, "run", {});
    expect(saved.recent().map(({ target }) => target)).toEqual([path]);
    expect(saved.recent()[0].note).toContain(path);
  });

  it("is passed over where it cannot be read or written", () => {
    const saved = new SavedViews({ XDG_STATE_HOME: folder });
    saved.save("/a", "a", { view: "ops" });
    for (const file of ["recent.json", ...readdirSync(join(folder, "remat", "views")).map((name) => `views/${name}`)])
      writeFileSync(join(folder, "remat", file), "{ no JSON");
    expect(saved.load("/a")).toEqual({});
    expect(saved.recent()).toEqual([]);
    expect(() => new SavedViews({ XDG_STATE_HOME: "/dev/null/nowhere" }).save("/a", "a", {})).not.toThrow();
  });
});

function folderOf(): string {
  const own = mkdtempSync(join(tmpdir(), "remat-files-"));
  made.push(own);
  return own;
}
