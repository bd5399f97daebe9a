import { beforeAll, expect, test } from "vitest";
import { checkLeaks } from "../src/leaks/check-leaks.js";
import { makings } from "../src/leaks/makings.js";
import { sourceOfLeakyProgram } from "../src/leaks/source-of-leaky-program.js";
import { startBackend } from "../src/start-backend.js";

beforeAll(async () => startBackend("cpu"));

const makingOf = (text: string) => makings.find((making) => making.text === text)!;

test("a program is written with what its lines leak", () => {
  const source = sourceOfLeakyProgram({
    ends: "mark",
    runs: 36,
    isAsync: true,
    statements: [
      { making: makingOf("twice(x)"), fate: "held", every: 1 },
      { making: makingOf("tf.variable(x)"), fate: "thrown past", every: 2 },
      { making: makingOf("x.mul(2)"), fate: "disposed later", every: 3 },
    ],
  });
  expect(source.split("\n").map((line) => line.trim())).toEqual([
    "async ({ tf, markPeriod }) => {",
    "const x = tf.randomUniform([8, 16]);",
    "const twice = (z) => {",
    "return tf.tidy(() => z.add(z)); // leaks 36 held",
    "};",
    "class Model { call(z) {",
    "return tf.tidy(() => z.tanh().sub(1));",
    "} }",
    "const kept0 = [];",
    "const kept2 = [];",
    "for (let i = 0; i < 36; i++) {",
    "{",
    "const v0 = twice(x);",
    "kept0.push(v0);",
    "}",
    "try {",
    "const v1 = tf.variable(x); // leaks 9 held",
    'if (i % 4 === 0) throw new Error("broken off");',
    "v1.dispose();",
    "} catch {}",
    "if (i % 3 === 0) {",
    "const v2 = x.mul(2);",
    "kept2.push(() => v2.dispose());",
    "if (kept2.length > 3) kept2.shift()();",
    "}",
    "await null;",
    'markPeriod("request");',
    "}",
    "}",
  ]);
});

const program = (body: string) => `async ({ tf, markPeriod }) => {
  const x = tf.ones([8, 16]);
  const kept = [];
  for (let i = 0; i < 36; i++) {
    ${body}
    markPeriod("request");
  }
}`;

test("a planted leak that is not there is missed, and one that is not planted is found", async () => {
  expect(await checkLeaks(program("x.add(1).dispose(); // leaks 36 lost"))).toMatch(
    /^line 5: none found, of 36 lost planted\n/,
  );
  expect(await checkLeaks(program("x.add(1);"))).toMatch(/^line 5: 36 lost found, of none planted\n/);
  expect(await checkLeaks(program("kept.push(x.add(1)); // leaks 36 lost"))).toMatch(
    /^line 5: 36 held found, of 36 lost planted\n/,
  );
  expect(await checkLeaks(program("x.add(1); // leaks 36 lost"))).toBeUndefined();
});

// Found by the fuzzer.
test("two lines that leak by the same op are both reported with all their leaks", async () => {
  const both = `kept.push(tf.tidy(() => x.mul(2))); // leaks 36 held
    tf.tidy(() => x.mul(3)); // leaks 36 lost`;
  expect(await checkLeaks(program(both))).toBeUndefined();
});
