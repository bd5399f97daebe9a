import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { optionName } from "../src/command.js";
import { commands } from "../src/commands/registry.js";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-completion-"));
const script = join(folder, "remat.bash");
beforeAll(async () => writeFileSync(script, (await remat("completion", "bash")).stdout));
afterAll(() => rmSync(folder, { recursive: true }));

/** Completions that bash offers after `typed`, split into words like readline does. */
function offered(typed: string): readonly string[] {
  const words = typed.split(/ |(?<==)|(?==)/);
  const command = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _remat; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const shown = execFileSync("bash", ["--norc", "-c", command, "bash", script, ...words], { encoding: "utf8" });
  return shown.split("\n").filter((line) => line !== "");
}

describe("completion in bash", () => {
  it("offers commands", () => {
    expect(offered("remat ")).toEqual([...commands.map(({ usage }) => usage.split(" ")[0]), "help"]);
    expect(offered("remat me")).toEqual(["memory"]);
    expect(offered("remat help pl")).toEqual(["plan"]);
  });

  it("offers every option of a command, wherever it stands", async () => {
    for (const entry of commands) {
      const own = (await entry.load()).options.map((option) => `--${optionName(option)}`);
      expect(offered(`remat ${entry.usage.split(" ")[0]} model.json --`)).toEqual(expect.arrayContaining(own));
    }
    expect(offered("remat memory model.json --uni")).toEqual(["--unit", "--units"]);
  });

  it("offers the values of an option, typed after a space or an equals sign", () => {
    expect(offered("remat memory --format ")).toEqual(["table", "plain", "json", "csv", "md"]);
    expect(offered("remat memory --format=j")).toEqual(["json"]);
    expect(offered("remat estimate --device h1")).toContain("h100");
    expect(offered("remat completion ")).toEqual(["bash", "zsh", "fish"]);
    expect(offered("remat ui --view tr")).toEqual(["trade-off"]);
    expect(offered("remat ui --theme ")).toEqual(["dark", "light"]);
    expect(offered("remat plan --order ")).toEqual(["fixed", "free"]);
  });

  it("leaves files to the shell: nothing of its own for a model, or an option that takes any text", () => {
    expect(offered("remat memory ")).toEqual([]);
    expect(offered("remat memory --batch ")).toEqual([]);
    expect(offered("remat plan m.json -o ")).toEqual([]);
  });

  it("runs nothing that was typed", () => {
    expect(offered("remat memory $(touch${IFS}ran) --un")).toEqual(["--unit", "--units"]);
    expect(offered("remat `touch` --")).toContain("--help");
  });
});

it("has scripts for zsh and fish that name every command and option", async () => {
  const [zsh, fish] = await Promise.all(["zsh", "fish"].map((shell) => remat("completion", shell)));
  for (const entry of commands) {
    const name = entry.usage.split(" ")[0];
    expect(zsh.stdout).toContain(`    ${name}) _arguments `);
    expect(fish.stdout).toContain(`complete -c remat -n __fish_use_subcommand -f -a ${name} -d `);
    for (const option of (await entry.load()).options) {
      expect(zsh.stdout).toMatch(new RegExp(`["']--${optionName(option)}[=[]`));
      expect(fish.stdout).toContain(`-n '__fish_seen_subcommand_from ${name}' -l ${optionName(option)} `);
    }
  }
});
