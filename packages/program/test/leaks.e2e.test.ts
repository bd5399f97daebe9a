import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeLeaks, growing } from "@remat/leaks";
import { atNight } from "@remat/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import type { ThreadReport } from "../src/index.js";
import { programPath, runUnder } from "./run-program-under.js";

const programs = (folder: string): readonly string[] =>
  readdirSync(programPath(folder)).map((name) => join(folder, name));

const leaking = programs("leaking");
/** A converted model is asked for more below. */
const clean = programs("clean").filter((name, i) => atNight || i % 2 === 0 || name.endsWith("graph-model-awaited.cjs"));
const tooShort =
  "at least four more are needed after the first. Let it run longer, or call markPeriod() of @remat/leaks after each step";
/** The first line of the report on unusual programs. */
const unusual: readonly (readonly [string, string | RegExp])[] = [
  ["never-repeats", `growth is unknown: no step was seen; ${tooShort}`],
  ["two-steps", `growth is unknown: 2 steps seen; ${tooShort}`],
  ["disposes-twice", /^nothing grows: 1 tensor and 64 B alive after \d+ iterations$/],
  ["no-tensors", "nothing grows: 0 tensors and 0 B alive, and no step was seen"],
];

/** The leaks of lines according to the program's comments. */
function planted(program: string): readonly string[] {
  return readFileSync(programPath(program), "utf8")
    .split("\n")
    .flatMap((text, i) => {
      const [, place = `${program}:${i + 1}`, what] = /\/\/.*?(nowhere)? ?leaks (.*)$/.exec(text) ?? [];
      return what === undefined ? [] : [`${place} leaks ${what}`];
    });
}

interface Found {
  readonly leaks: readonly string[];
  readonly text: string;
  /** A line each of what leaks: where, how much of it, and what helps. */
  readonly told: readonly string[];
}

/**
 * Runs programs in threads of one process, which takes as long as three processes, and takes all stacks, so that counts
 * do not depend on the load of the machine.
 */
async function findLeaks(list: readonly string[]): Promise<ReadonlyMap<string, Found>> {
  const { exitCode, reports } = await runUnder({ kind: "leaks", stacks: { share: 1 } }, [
    "node",
    "each-in-a-worker.cjs",
    ...list,
  ]);
  expect(exitCode).toBe(0);
  const threads = reports.toSorted((a, b) => a.thread - b.thread);
  expect(threads).toHaveLength(list.length);
  const working = threads.filter(({ leaks }) => leaks !== undefined && leaks.count > 0);
  expect(working.map(({ device }) => device)).toEqual(working.map(() => "cpu"));
  return new Map(list.map((program, i) => [program, foundIn(program, threads[i])]));
}

function foundIn(program: string, { leaks: report }: ThreadReport): Found {
  const wanted = planted(program);
  const leaks = growing(report!).map(({ line, origin, count, lost, held }) => {
    const place = line?.replace(/:\d+$/, "") ?? "nowhere";
    if (origin === "values") return `${place} leaks values`;
    const told = `${place} leaks ${count}`;
    const fate = `${told}, ${lost === count ? "lost" : held === count ? "held" : `lost ${lost}, held ${held}`}`;
    return wanted.includes(told) ? told : fate;
  });
  const lines = describeLeaks(report!);
  return { leaks: leaks.toSorted(), text: lines.join("\n"), told: toldOf(lines) };
}

/**
 * For each reported allocation site, identified by its fix: the line of the program, the report on its tensors, the
 * fix.
 */
function toldOf(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line, i) => {
    const [, fix] = /^ {2}fix: (.*)$/.exec(line) ?? [];
    if (fix === undefined) return [];
    const [place, ...rest] = lines[i - 2].split(": ");
    const [, number] = /:(\d+):\d+$/.exec(place) ?? [];
    const fate = rest.join(": ").split(", ").slice(1, -1).join(", ");
    return [`${number === undefined ? "no line of the program" : `line ${number}`}: ${fate} | ${fix}`];
  });
}

const pagePath = new URL("../../../docs/how-to/leaks.md", import.meta.url);
const table = /(?<=<!-- leaks: programs -->\n\n)[^]*?(?=\n\n<!-- \/leaks: programs -->)/;

/** The folder of leaking programs, relative to the page. */
const folderOfPage = "../../packages/program/test/programs/leaking";

/** The table of docs/how-to/leaks.md: the findings of `remat leaks` for each leaking program. */
function tableOf(found: ReadonlyMap<string, Found>): string {
  const rows = leaking.flatMap((program) =>
    found.get(program)!.told.map((told) => {
      const [, file] = /leaking.(.*)\.cjs$/.exec(program)!;
      return `| [${file.replaceAll("-", " ")}](${folderOfPage}/${file}.cjs) | ${told} |`;
    }),
  );
  return ["| program | what it reports | how to fix it |", "|---|---|---|", ...rows].join("\n");
}

describe("remat leaks", () => {
  let found: ReadonlyMap<string, Found>;
  beforeAll(async () => {
    const odd = unusual.map(([name]) => join("unusual", `${name}.cjs`));
    const both = await Promise.all([findLeaks(leaking), findLeaks([...clean, ...odd])]);
    found = new Map(both.flatMap((each) => [...each]));
  });

  it.each(leaking)("names what leaks in %s, with its count, and nothing else", (program) => {
    const { leaks, text } = found.get(program)!;
    expect(leaks, text).toEqual([...planted(program)].toSorted());
    expect(text).toMatch(/^memory grows by /m);
  });

  it.each(clean)("names nothing in %s", (program) => {
    const { leaks, text } = found.get(program)!;
    expect(leaks, text).toEqual([]);
    expect(text).toMatch(/^nothing grows: \d+ tensors? and .* alive after /m);
  });

  it("takes calls of a converted model for periods", () => {
    expect(found.get(join("leaking", "graph-model.cjs"))!.text).toMatch(
      /^memory grows by 1 tensor and 16 B per call of predict, seen in 12 calls of predict/,
    );
    expect(found.get(join("clean", "graph-model-awaited.cjs"))!.text).toMatch(/after 12 calls of predict$/m);
  });

  it("names the layer that ran", () => {
    expect(found.get(join("leaking", "own-layer.cjs"))!.text).toMatch(
      /^ {2}tf\.\w+ float32 \[2,4\] in (?:\S+\.)?seen, kept by tf\.keep/m,
    );
  });

  it.each(unusual)("says one clear line of %s", (name, line) => {
    const [verdict] = found.get(join("unusual", `${name}.cjs`))!.text.split("\n");
    if (typeof line === "string") expect(verdict).toBe(line);
    else expect(verdict).toMatch(line);
  });

  it("says of each what the page has in its table", () => {
    const page = readFileSync(pagePath, "utf8");
    const wanted = tableOf(found);
    if (process.env["UPDATE_README"] === "1")
      writeFileSync(
        pagePath,
        page.replace(table, () => wanted),
      );
    else expect(table.exec(page)?.[0]).toBe(wanted);
  });

  it.each(["forgotten-dispose", "model-per-request", "replay-buffer"])("says of %s what the page shows", (name) => {
    const page = readFileSync(pagePath, "utf8");
    const shown = page.replaceAll(/^ {4}(?:remat: | {7})?/gm, "");
    const program = join("leaking", `${name}.cjs`);
    const [verdict, maker, ...rest] = found.get(program)!.text.split("\n");
    expect(shown).toContain(verdict);
    expect(shown).toContain([maker, ...rest].slice(0, 3).join("\n"));
    const lines = readFileSync(programPath(program), "utf8").split("\n");
    const loop = lines.findIndex((line) => /^(?:for|async)/.test(line));
    const part = lines.slice(loop, lines.indexOf("}", loop) + 1).join("\n");
    // The page numbers the lines that the report names.
    const code = page.replaceAll(/^ {4}/gm, "").replaceAll(/ +\/\/ line \d+$/gm, "");
    expect(code).toContain(part.replaceAll(/ \/\/ leaks.*/g, ""));
  });
});
