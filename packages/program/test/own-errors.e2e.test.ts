import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sampledCases } from "@remat/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ProgramOrder } from "../src/index.js";
import { runUnder } from "./run-program-under.js";

const folder = fileURLToPath(new URL(`../node_modules/.remat-test/${process.pid}-wrong`, import.meta.url));
const orders: Readonly<Record<string, ProgramOrder>> = {
  record: { kind: "record", steps: 2, seconds: 60 },
  watch: { kind: "record", steps: 1, seconds: 60, watches: true },
  leaks: { kind: "leaks" },
  "exec --early-release": { kind: "exec" },
  "exec --budget": { kind: "exec", budget: "1GB" },
};

const begin = `const tf = require("@tensorflow/tfjs");
const w = tf.variable(tf.tensor2d([[0.5], [0.25]])), x = tf.tensor2d([[1, 2], [3, 4]]);
const sgd = tf.train.sgd(0.01);
const step = () => sgd.minimize(() => tf.matMul(x, w).square().mean());
for (let i = 0; i < 3; i++) step();
const kernel = (name, inputs) => tf.engine().runKernel(name, inputs);
const gone = () => { const tensor = tf.ones([2, 2]); tensor.dispose(); return tensor; };
const custom = (value, gradFunc, save) => tf.customGrad((a, keep) => { if (save) keep(save); return { value: value ?? a.square(), gradFunc }; });
const model = () => { const made = tf.sequential({ layers: [tf.layers.dense({ units: 3, activation: "relu", inputShape: [2] }), tf.layers.dense({ units: 1 })] }); made.compile({ optimizer: "sgd", loss: "meanSquaredError" }); return made; };
class Own extends tf.layers.Layer { static className = "Own"; constructor(run) { super({}); this.run = run; } call(x) { return this.run(x); } computeOutputShape(shape) { return shape; } }
const withLayer = (run) => { const made = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [2] }), new Own(run)] }); made.compile({ optimizer: "sgd", loss: "meanSquaredError" }); return made; };
`;

/** Wrong uses of tfjs, each of which throws. The program prints the error and its place. */
const mistakes = [
  // Inputs that are not tensors, in a pass and outside.
  'kernel("Relu", { x: undefined })',
  'sgd.minimize(() => kernel("Relu", { x: undefined }).sum())',
  'sgd.minimize(() => kernel("Add", undefined))',
  'sgd.minimize(() => kernel("Add", { a: null, b: w }))',
  'sgd.minimize(() => kernel("Add", { a: w }))',
  'sgd.minimize(() => kernel("NoSuchKernel", { a: w }))',
  'sgd.minimize(() => kernel("Relu", { x: { dataId: {}, shape: [2], dtype: "float32" } }))',
  'sgd.minimize(() => kernel("Relu", { x: { dataId: 7, shape: [2], dtype: "float32" } }))',
  'sgd.minimize(() => kernel("Relu", { x: 7 }))',
  'sgd.minimize(() => kernel("Relu", { x: "seven" }))',
  'sgd.minimize(() => kernel("MatMul", { a: undefined, b: w }))',
  "sgd.minimize(() => tf.matMul(undefined, w).sum())",
  "sgd.minimize(() => tf.concat([w, undefined]).sum())",
  "tf.keep(undefined)",
  "w.assign(undefined)",
  "sgd.applyGradients(undefined)",
  // Disposed tensors.
  "sgd.minimize(() => tf.matMul(gone(), w).sum())",
  "gone().add(1)",
  "gone().dataSync()",
  'kernel("Relu", { x: gone() })',
  "sgd.minimize(() => { const y = tf.matMul(x, w); y.dispose(); return y.square().sum(); })",
  "(() => { const m = model(); m.dispose(); m.dispose(); })()",
  "(() => { const m = model(); m.dispose(); return m.predict(tf.ones([4, 2])); })()",
  "model().predict(gone())",
  // Shapes and types.
  "sgd.minimize(() => tf.matMul(tf.ones([3, 3]), w).sum())",
  "sgd.minimize(() => tf.add(tf.ones([3]), tf.ones([4])).sum())",
  'sgd.minimize(() => tf.matMul(tf.fill([2, 2], "a", "string"), w).sum())',
  "sgd.minimize(() => tf.slice(w, [5], [3]).sum())",
  "sgd.minimize(() => w.reshape([7]).sum())",
  "sgd.minimize(() => tf.complex(tf.ones([2]), tf.ones([3])).sum())",
  "model().predict(tf.ones([4, 7]))",
  "model().predict(undefined)",
  "model().predict(null)",
  "tf.layers.dense({ units: 2 }).apply(undefined)",
  "(() => { const l = tf.layers.dense({ units: 2, inputShape: [2] }); l.build([null, 2]); return l.call(undefined); })()",
  "(() => { const l = tf.layers.dense({ units: 2 }); l.apply(tf.ones([1, 2])); l.apply(tf.ones([1, 3])); })()",
  // Errors in the differentiated function.
  "sgd.minimize(() => tf.matMul(x, w))",
  "sgd.minimize(() => 7)",
  "sgd.minimize(() => undefined)",
  "sgd.minimize(() => tf.scalar(1))",
  "sgd.minimize(() => tf.matMul(x, w).sum(), false, [])",
  "sgd.minimize(() => tf.matMul(x, w).sum(), false, [tf.variable(tf.scalar(1), false)])",
  "sgd.minimize(() => w.square().sum(), false, [tf.variable(tf.scalar(1))])",
  "tf.grad(() => tf.scalar(1))(tf.scalar(2))",
  "tf.grads((a, b) => a.mul(b).sum())([tf.ones([2]), undefined])",
  "tf.grad(7)(w)",
  "tf.grad((a) => a.square())(w, tf.ones([5]))",
  "sgd.minimize(() => tf.topk(w.reshape([2]), 1).values.sum())",
  // Errors in a custom gradient.
  "sgd.minimize(() => custom(undefined, () => 7)(tf.matMul(x, w)).sum())",
  "sgd.minimize(() => custom(undefined, () => undefined)(tf.matMul(x, w)).sum())",
  "sgd.minimize(() => custom(undefined, () => tf.ones([7]))(tf.matMul(x, w)).sum())",
  "sgd.minimize(() => custom(7, (dy) => dy)(tf.matMul(x, w)).sum())",
  "sgd.minimize(() => custom(undefined, (dy) => dy, [undefined])(tf.matMul(x, w)).sum())",
  "sgd.minimize(() => custom(undefined, () => { throw new Error('in a gradient'); })(tf.matMul(x, w)).sum())",
  // Errors that the program itself throws.
  "tf.tidy(() => { tf.ones([2]); throw new RangeError('in a tidy'); })",
  "tf.variableGrads(() => { throw new TypeError('mine'); })",
  "sgd.minimize(() => { tf.matMul(x, w); throw new Error('in a loss'); })",
  "sgd.minimize(() => { tf.matMul(x, w); throw 'a string'; })",
  "sgd.minimize(() => { tf.matMul(x, w); throw undefined; })",
  "sgd.minimize(() => { tf.matMul(x, w); throw null; })",
  "sgd.minimize(() => { tf.matMul(x, w); throw Symbol('odd'); })",
  "sgd.minimize(() => { tf.matMul(x, w); throw { toString() { throw new Error('not as text'); } }; })",
  "sgd.minimize(() => { tf.matMul(x, w); throw Object.create(null); })",
  "sgd.minimize(() => { tf.matMul(x, w); throw Object.freeze(new Error('frozen')); })",
  // Errors in models that train.
  "await model().fit(tf.ones([4, 7]), tf.ones([4, 1]))",
  "await model().fit(undefined, tf.ones([4, 1]))",
  "await model().fit(tf.ones([4, 2]), tf.ones([5, 1]))",
  "await (async () => { const m = model(); const first = m.fit(tf.ones([4, 2]), tf.ones([4, 1])); try { await m.fit(tf.ones([4, 2]), tf.ones([4, 1])); } finally { await first; } })()",
  "await model().fit(tf.ones([4, 2]), tf.ones([4, 1]), { epochs: 3, callbacks: { onEpochEnd(e) { if (e === 1) throw new Error('in a callback'); } } })",
  "await model().trainOnBatch(tf.ones([4, 3]), tf.ones([4, 1]))",
  "await withLayer(() => { throw new Error('in a layer'); }).fit(tf.ones([4, 2]), tf.ones([4, 2]))",
  "await withLayer(() => undefined).fit(tf.ones([4, 2]), tf.ones([4, 2]))",
  "await tf.setBackend('none')",
];

const allMistakes = `${begin}
const told = (error) => {
  if (typeof error !== "object" || error === null) return String(typeof error === "symbol" ? error.toString() : error);
  const [, top = ""] = /\\n\\s*at (.*)/.exec(error.stack ?? "") ?? [];
  return [error.name, error.message, top].join(" | ");
};
(async () => {
${mistakes.map((text, i) => `  try { ${text}; console.log(${i}, "nothing thrown"); } catch (error) { console.log(${i}, told(error)); }`).join("\n")}
  for (let i = 0; i < 3; i++) step();
  console.log(w.dataSync().join(" "), tf.engine().state.gradientDepth, tf.engine().state.scopeStack.length);
})();
`;

/** Programs that end by what they do. */
const ends: Readonly<Record<string, string>> = {
  "an error in a loss": "sgd.minimize(() => { tf.matMul(x, w); throw new Error('in a loss'); });",
  "an error of a kernel": 'sgd.minimize(() => kernel("Relu", { x: undefined }).sum());',
  "an error of a kernel outside of passes": 'kernel("Relu", { x: undefined });',
  "an error in a gradient":
    "sgd.minimize(() => custom(undefined, () => { throw new Error('in a gradient'); })(tf.matMul(x, w)).sum());",
  "a rejected fit": "model().fit(tf.ones([4, 2]), tf.ones([5, 1]));",
  "a layer that throws": "withLayer(() => { throw new Error('in a layer'); }).fit(tf.ones([4, 2]), tf.ones([4, 2]));",
  "a backend that is not there": "tf.setBackend('none');",
  "a rejected promise": "Promise.reject(new Error('rejected'));",
  "a rejected promise that is handled":
    "process.on('unhandledRejection', ({ message }) => { console.log(message); process.exitCode = 5; }); Promise.reject(new Error('rejected'));",
  "an uncaught exception that is handled":
    "process.on('uncaughtException', ({ message }, origin) => console.log(message, origin)); setTimeout(() => tf.matMul(undefined, w), 1);",
  "process.exit in a loss": "sgd.minimize(() => { tf.matMul(x, w); process.exit(3); });",
  "process.exit in a tidy": "tf.tidy(() => { tf.ones([2]); process.exit(4); });",
  "process.exit in a gradient": "sgd.minimize(() => custom(undefined, () => process.exit(6))(tf.matMul(x, w)).sum());",
  "process.exit as it ends": "process.on('exit', () => process.exit(8));",
  "an error as it ends": "process.on('exit', () => { throw new Error('at the end'); });",
  "steps as it ends": "process.on('exit', () => { step(); console.log(w.dataSync().join(' ')); });",
  "ten listeners of its end": "for (let i = 0; i < 10; i++) process.on('exit', () => {});",
  "stacks that are not to be made":
    "Error.prepareStackTrace = () => { throw new Error('no stacks'); }; step(); console.log(w.dataSync().join(' '));",
  "a class Error that nobody may change": "Object.freeze(Error); step(); console.log(w.dataSync().join(' '));",
  "a working folder that is gone":
    "const fs = require('node:fs'); process.chdir(fs.mkdtempSync(require('node:os').tmpdir() + '/gone-')); fs.rmdirSync(process.cwd()); step(); console.log(w.dataSync().join(' '));",
};

interface Seen {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Without the process's id, and of each stack the innermost frame alone: those further out go through remat. */
function seen({ exitCode, stdout, stderr }: Seen): Seen {
  const lines = stderr.replaceAll(/\(node:\d+\)/g, "(node)").split("\n");
  const isFrame = (line: string | undefined): boolean => line !== undefined && /^ {4}at /.test(line);
  const kept = lines.filter((line, i) => !isFrame(line) || !isFrame(lines[i - 1]));
  return { exitCode, stdout, stderr: kept.join("\n") };
}

function alone(file: string): Seen {
  const { status, stdout, stderr } = spawnSync("node", [file], { cwd: folder, encoding: "utf8" });
  return seen({ exitCode: status, stdout, stderr });
}

/** Backward passes that free early are remat's own, so what tfjs finds wrong of a gradient is thrown there, in the same words. */
const isOfBackwardPass = (line: string): boolean =>
  /Error in gradient for op|gradient function not found|Cannot use 'in' operator|\(reading 'dtype'\)|not a function/.test(
    line,
  );
/** The place is the same; V8 finds a function's name by the property that it is called as. */
const withoutName = (line: string): string => line.replace("Object.<anonymous>", "Object.kernelFunc");
const withoutTop = (line: string): string => line.replace(/ \| [^|]*$/, "");

beforeAll(() => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "mistakes.cjs"), allMistakes);
  for (const [i, text] of Object.values(ends).entries())
    writeFileSync(join(folder, `end-${i}.cjs`), `${begin}${text}\n`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(Object.entries(orders).map((each, i) => [...each, i] as const))("under %s", (name, order, offset) => {
  it("tfjs's errors are tfjs's, word for word, and from the same place", async () => {
    const expected = alone("mistakes.cjs");
    expect(expected.stdout.split("\n").length).toBe(mistakes.length + 2);
    const found = seen(await runUnder(order, ["node", "mistakes.cjs"], folder));
    const linesOf = ({ stdout }: Seen): string[] =>
      stdout
        .split("\n")
        .map((line) => (name.startsWith("exec") && isOfBackwardPass(line) ? withoutTop(line) : withoutName(line)));
    expect(linesOf(found)).toEqual(linesOf(expected));
    expect(found.exitCode).toBe(expected.exitCode);
  });

  it.each(
    sampledCases(
      Object.keys(ends).map((title, i) => [title, i] as const),
      Object.keys(orders).length,
      offset,
    ),
  )("%s: the program ends as it does alone", async (_title, i) => {
    expect(seen(await runUnder(order, ["node", `end-${i}.cjs`], folder))).toEqual(alone(`end-${i}.cjs`));
  });
});
