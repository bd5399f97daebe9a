import * as fc from "fast-check";
import { expect, test } from "vitest";
import { hostilePieces, hostileText } from "../../../../tooling/testkit/src/hostile-text.js";
import { displaySafe, shell } from "../../src/emit/index.js";
import { answerOf, missing } from "./run-program.js";

/** A word has no place for NUL, and UTF-8 none for halves of characters. */
const asBytes = (text: string): string => text.replaceAll("\0", "\ufffd").replace(/\p{Surrogate}/gu, "\ufffd");

test("bash reads each word as the text that it was made of, whatever stands around it", () => {
  const names = [...hostilePieces, "", ...fc.sample(hostileText, 500)];
  // Each parsed word is printed between NULs, which no word contains.
  const script = names.map((name) => shell`printf '%s\\0' a ${shell.word(name)} ${shell.word(name)} b`).join("\n");
  expect(displaySafe(script.replaceAll("\n", ""))).toBe(script.replaceAll("\n", ""));
  if (answerOf("bash", ["-n"], script) === undefined) return missing("bash");
  const words = answerOf("bash", ["--norc", "-s"], `set -f +H\ncd /\n${script}`)!.split("\0");
  expect(words.slice(0, -1)).toEqual(names.map(asBytes).flatMap((name) => ["a", name, name, "b"]));
});

test("words that are joined are as many as there were", () => {
  const lists = fc.sample(fc.array(hostileText, { maxLength: 5 }), 200);
  const script = lists.map((list) => shell`f ${shell.words(list)}`).join("\n");
  const counts = answerOf("bash", ["--norc", "-s"], `f() { echo $#; }\n${script}`);
  if (counts === undefined) return missing("bash");
  expect(counts.trim().split("\n").map(Number)).toEqual(lists.map((list) => list.length));
});

test("a path is no option", () => {
  expect(shell.path("-rf")).toBe("./-rf");
  expect(shell.path("-")).toBe("-");
  expect(shell.path("--budget=1 x")).toBe("'./--budget=1 x'");
});

test("a hole in quotes or a comment is refused", () => {
  expect(() => shell`echo "${shell.word("a")}"`).toThrow("within a string");
  expect(() => shell`echo '${shell.word("a")}'`).toThrow("within a string");
  expect(() => shell`echo # ${shell.word("a")}`).toThrow("within a comment");
  expect(shell`echo a#b "it's" ${shell.word("a b")}`).toBe(`echo a#b "it's" 'a b'`);
});
