import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { sampledCases } from "@remat/testkit/sampled-cases";
import { parseSync } from "vite";
import { describe, expect, it } from "vitest";
import { root } from "./lint-fixtures.js";

/** A regular expression of a source. */
interface Expression {
  readonly where: string;
  readonly source: string;
  readonly flags: string;
}

const tracked = execFileSync("git", ["ls-files", "packages", "apps", "tooling"], {
  cwd: root,
  encoding: "utf8",
  maxBuffer: 1 << 26,
})
  .split("\n")
  .filter((path) => !path.includes("/test/"));

const sourceFiles = (folder: string, ending: RegExp): readonly string[] =>
  tracked.filter((path) => path.startsWith(`${folder}/`) && ending.test(path) && existsSync(join(root, path)));

/** Literals, and texts that are given to `RegExp`. */
function expressionsIn(path: string): readonly Expression[] {
  const found: Expression[] = [];
  const text = readFileSync(join(root, path), "utf8");
  const { program } = parseSync(path, text);
  const add = (start: number, source: string, flags: string): void => {
    found.push({ where: `${path}:${text.slice(0, start).split("\n").length}`, source, flags });
  };
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (typeof node !== "object" || node === null) return;
    const { type, regex, start, callee, arguments: given } = node as any;
    if (type === "Literal" && regex) add(start, regex.pattern, regex.flags);
    else if (/^(?:New|Call)Expression$/.test(type) && callee?.name === "RegExp" && typeof given[0]?.value === "string")
      add(start, given[0].value, typeof given[1]?.value === "string" ? given[1].value : "");
    Object.values(node).forEach(visit);
  };
  visit(program);
  return found;
}

/** `re.match` tries the beginning alone, and `re.fullmatch` also needs the end. */
function anchored(call: string, source: string): string {
  if (call === "fullmatch") return `^(?:${source})$`;
  return call === "match" ? `^(?:${source})` : source;
}

/** The texts that Python's `re` is given, in JavaScript's words. */
function expressionsInPython(path: string): readonly Expression[] {
  const text = readFileSync(join(root, path), "utf8");
  return [...text.matchAll(/\bre\.(\w+)\(\s*r?(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)')/g)].map((match) => ({
    where: `${path}:${text.slice(0, match.index).split("\n").length}`,
    source: anchored(match[1], (match[2] ?? match[3] ?? "").replaceAll("(?P<", "(?<").replaceAll("\\Z", "$")),
    flags: "",
  }));
}

/** Characters of which one is taken for a class. */
const candidates = "a1 A_-./:\"'\\\n\t()[]{}<>@#=,;|xyz09é\0";

/** One atom of an expression: what it is, and a text that it matches. */
function samplesOf(source: string, flags: string): readonly string[] {
  const samples: string[] = [];
  const atom =
    /\\[pP]\{[^}]*\}|\\u\{?[0-9a-fA-F]+\}?|\\x..|\\.|\[(?:[^\]\\]|\\.)*\]|\(\?<?[=!:]|\(\?<\w+>|[()|^$]|[*+?]\??|\{\d*,?\d*\}\??|[^]/gu;
  for (const [text] of source.matchAll(atom)) {
    if (/^(?:\(.*|[)|^$]|\\[bB1-9]|[*+?]\??|\{\d*,?\d*\}\??)$/.test(text)) continue;
    if (/^[^\\.[]$/u.test(text)) samples.push(text);
    else {
      try {
        const one = new RegExp(`^${text}$`, flags.replaceAll(/[gy]/g, ""));
        const found = [...candidates].find((character) => one.test(character));
        if (found !== undefined) samples.push(found);
      } catch {
        // A part that is no expression by itself.
      }
    }
  }
  return samples;
}

/**
 * Yields texts that may make an expression backtrack: repetitions of its parts, after a matching beginning and before an
 * unexpected end.
 */
function* attacksOn({ source, flags }: Expression, length: number): Generator<string> {
  const samples = samplesOf(source, flags);
  const pumps = new Set<string>();
  for (let to = 1; to < samples.length; to++) pumps.add(samples.slice(0, to).join(""));
  for (let from = 0; from < samples.length; from++)
    for (const to of [from + 1, from + 2, from + 3, samples.length]) pumps.add(samples.slice(from, to).join(""));
  const all = samples.join("");
  const perPump = [...pumps].filter((pump) => pump !== "").slice(0, 100);
  for (const pump of perPump) {
    const repeated = pump.repeat(Math.ceil(length / pump.length));
    const at = all.indexOf(pump);
    yield `${repeated}\u0001\n`;
    if (at > 0) yield `${all.slice(0, at)}${repeated}\u0001\n`;
  }
}

const expressions = [
  ...["packages", "apps"].flatMap((folder) => sourceFiles(folder, /\/(?:src|page)\/.*\.[jt]s$/).flatMap(expressionsIn)),
  ...sourceFiles("tooling/pytorch-exporter/remat", /\.py$/).flatMap(expressionsInPython),
];

/** A linear expression takes a millisecond, a quadratic one tens of seconds. */
const mostMs = 1000;
/** The limit is on elapsed time, so a busy machine can stop a linear expression: it is tried again. */
const mostTries = 5;
const length = 256 * 1024;

const context = createContext({});

/** Runs an expression on a text, and returns whether it ends in time. V8 stops it if it does not. */
function isInTime({ source, flags }: Expression, text: string, tries = mostTries): boolean {
  Object.assign(context, { source, flags, text });
  try {
    runInContext("new RegExp(source, flags).exec(text)", context, { timeout: mostMs });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    return tries > 1 && isInTime({ where: "", source, flags }, text, tries - 1);
  }
}

describe("every regular expression", () => {
  it("is found", () => {
    expect(expressions.length).toBeGreaterThan(250);
    expect(expressions.some(({ where }) => where.includes(".py:"))).toBe(true);
  });

  it("takes time in proportion to the text", () => {
    const distinct = new Map(expressions.map((each) => [`${each.source}/${each.flags}`, each]));
    const slow: string[] = [];
    for (const expression of sampledCases([...distinct.values()], 3))
      for (const attack of attacksOn(expression, length))
        if (!isInTime(expression, attack)) {
          slow.push(
            `${expression.where}: /${expression.source}/${expression.flags} on ${JSON.stringify(attack.slice(0, 40))}`,
          );
          break;
        }
    expect(slow).toEqual([]);
  });

  const slow = [
    "(a+)+$",
    "\\s+$",
    "a.*b.*c$",
    "([\\d.]+ (?:bytes|[KMGTPE]iB)) total",
    "Allocator \\(.*\\) ran",
    "x*x*x*y",
  ];
  it.each(sampledCases(slow, 2))("that is slow is noticed: /%s/", (source) => {
    const attacks = [...attacksOn({ where: "", source, flags: "" }, length)];
    expect(attacks.every((attack) => isInTime({ where: "", source, flags: "" }, attack, 1))).toBe(false);
  });
});
