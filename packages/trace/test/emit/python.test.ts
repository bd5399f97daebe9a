import * as fc from "fast-check";
import { expect, test } from "vitest";
import { hostilePieces, hostileText } from "../../../../tooling/testkit/src/hostile-text.js";
import { type PythonCode, python } from "../../src/emit/index.js";
import { answerOf, missing } from "./run-program.js";

/** Reads sources as a list, parses each, and answers with what it holds: kinds of nodes, and the texts of literals as their code points. */
const judge = `
import ast, json, sys
answers = []
for source in json.load(sys.stdin):
    tree = ast.parse(source)
    nodes = [type(node).__name__ for node in ast.walk(tree)]
    texts = [[ord(c) for c in node.value] for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    answers.append({"nodes": nodes, "texts": texts})
json.dump(answers, sys.stdout)
`;

interface Answer {
  readonly nodes: readonly string[];
  readonly texts: readonly (readonly number[])[];
}

const ask = (sources: readonly string[]): readonly Answer[] | undefined => {
  const answer = answerOf("python3", ["-c", judge], JSON.stringify(sources));
  return answer === undefined ? undefined : (JSON.parse(answer) as Answer[]);
};

const written = (name: string): PythonCode =>
  python.lines([
    python.comment(name),
    python`def shard(model):`,
    python.lines(
      [
        python`part = model.get_submodule(${python.string(name)})`,
        python.comment(name),
        python`return [${python.list([python.string(name), python`${3}`, python`${true}`, python.string(name)])}] ${python.comment(name)}`,
      ],
      4,
    ),
    python``,
  ]);

const codePoints = (text: string): number[] => Array.from(text, (character) => character.codePointAt(0)!);

test("Python reads the same code for any name, and each literal as the name", () => {
  const names = [...hostilePieces, ...fc.sample(hostileText, 500)];
  const answers = ask(["plain", ...names].map(written));
  if (answers === undefined) return missing("python3");
  const [plain, ...others] = answers;
  expect(plain.nodes.filter((node) => node === "Constant")).toHaveLength(5);
  others.forEach(({ nodes, texts }, i) => {
    expect(nodes, JSON.stringify(names[i])).toEqual(plain.nodes);
    expect(texts, JSON.stringify(names[i])).toEqual([0, 1, 2].map(() => codePoints(names[i])));
  });
});

test("numbers are written as Python reads them", () => {
  const numbers = [0, -1, 1.5, 1e21, 1e-7, Number.NaN, Infinity, -Infinity];
  const answer = answerOf("python3", ["-c", `print(${numbers.map((n) => python`${n}`).join(", ")})`], "");
  if (answer === undefined) return missing("python3");
  expect(answer.trim()).toBe("0 -1 1.5 1e+21 1e-07 nan inf -inf");
});

test("an identifier is one, or is refused", () => {
  expect(python.identifier("float8_e4m3fn")).toBe("float8_e4m3fn");
  for (const name of ["", "1a", "a.b", "a b", "a\n", "class", "None", "a;b", "ä"])
    expect(() => python.identifier(name), name).toThrow("is not a Python identifier");
});

test("a hole in a string or a comment is refused, and so is code behind a comment", () => {
  const name = python.string("a");
  expect(() => python`x = "${name}"`).toThrow("within a string");
  expect(() => python`x = """a\n${name}"""`).toThrow("within a string");
  expect(() => python`# ${name}`).toThrow("within a comment");
  expect(() => python`${python.comment("a")} + 1`).toThrow("not at the end of its line");
  expect(() => python.list([python.comment("a"), name])).toThrow("not at the end of its line");
  expect(python`x = "#" ${python.comment("a")}\ny = ${name}`).toBe('x = "#" # a\ny = "a"');
});
