import { indented } from "../programs/indented.js";
import type { Ends, Fate, LeakyProgram, LeakyStatement } from "./leaky-program.js";
import { type Maker, makers } from "./makings.js";

/**
 * Writes a program as JavaScript, a function of `{ tf, markPeriod }`, with comments that list the leaks of each line.
 */
export function sourceOfLeakyProgram({ ends, runs, isAsync, statements }: LeakyProgram): string {
  const written = statements.map((statement, k) => write(statement, k, runs));
  const body = written.flatMap(({ lines }) => lines);
  const { before, run } = framesOf[ends](runs, [...body, ...(isAsync && ends !== "fit" ? ["await null;"] : [])]);
  const leaksOf = (name: Maker) => written.flatMap(({ maker, leaks }) => (maker === name ? leaks : [])).join(", ");
  return indented(
    [
      "async ({ tf, markPeriod }) => {",
      "const x = tf.randomUniform([8, 16]);",
      ...(Object.keys(makers) as Maker[]).flatMap((name) => {
        const [head, line, ...rest] = makers[name];
        return [head, noted(line, leaksOf(name)), ...rest];
      }),
      ...before,
      ...statements.flatMap(({ fate }, k) => (places.has(fate) ? [`const kept${k} = [];`] : [])),
      ...run,
      "}",
    ].join("\n"),
  );
}

/** Fates for which an array outlives the runs. */
const places = new Set<Fate>(["held", "values held", "disposed later", "disposed together"]);
/** Number alive at once if they are disposed later: fewer than count as growth. */
const bound = 3;

interface Written {
  readonly lines: readonly string[];
  readonly maker: Maker | undefined;
  /** As comments list them. */
  readonly leaks: readonly string[];
}

const noted = (line: string, leaks: string): string => (leaks === "" ? line : `${line} // leaks ${leaks}`);

function write({ making, fate, every }: LeakyStatement, k: number, runs: number): Written {
  const { text, count, variables, isTensor, maker } = making;
  const v = `v${k}`;
  const times = fate === "thrown past" ? Math.ceil(runs / (2 * every)) : Math.ceil(runs / every);
  const of = (n: number, what: string) => (n > 0 ? [`${times * n} ${what}`] : []);
  const leaksOf: Partial<Record<Fate, readonly string[]>> = {
    held: of(count, "held"),
    forgotten: [...of(variables, "held"), ...of(count - variables, "lost")],
    "thrown past": [...of(variables, "held"), ...of(count - variables, "lost")],
  };
  const leaks = leaksOf[fate] ?? [];
  const made = noted(`const ${v} = ${text};`, maker === undefined ? leaks.join(", ") : "");
  const dispose = isTensor || variables > 0 ? `${v}.dispose();` : `tf.dispose(${v});`;
  const when = every === 1 ? "{" : `if (i % ${every} === 0) {`;
  const linesOf: Readonly<Record<Fate, readonly string[]>> = {
    forgotten: [when, made, "}"],
    held: [when, made, `kept${k}.push(${v});`, "}"],
    "thrown past": ["try {", made, `if (i % ${2 * every} === 0) throw new Error("broken off");`, dispose, "} catch {}"],
    "values held": [when, `const ${v} = x.mul(i);`, `kept${k}.push(${v}.dataSync()); // leaks values`, dispose, "}"],
    disposed: [when, made, dispose, "}"],
    "disposed later": [
      when,
      made,
      `kept${k}.push(() => ${dispose.slice(0, -1)});`,
      `if (kept${k}.length > ${bound}) kept${k}.shift()();`,
      "}",
    ],
    "disposed together": [
      when,
      made,
      `kept${k}.push(() => ${dispose.slice(0, -1)});`,
      `if (kept${k}.length === ${bound}) for (const dispose of kept${k}.splice(0)) dispose();`,
      "}",
    ],
    "made once": ["if (i === 0) {", made, "}"],
  };
  return { lines: linesOf[fate], maker, leaks };
}

interface Frame {
  readonly before: readonly string[];
  readonly run: readonly string[];
}

const weights = ["const w = tf.variable(tf.tidy(() => x.mean(0)));", "const optimizer = tf.train.sgd(0.1);"];
const model = "const model = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [16] })] });";
const loop = (runs: number, body: readonly string[], end: readonly string[]): readonly string[] => [
  `for (let i = 0; i < ${runs}; i++) {`,
  ...body,
  ...end,
  "}",
];

const framesOf: Readonly<Record<Ends, (runs: number, body: readonly string[]) => Frame>> = {
  step: (runs, body) => ({
    before: weights,
    run: loop(runs, body, ["optimizer.minimize(() => x.mul(w).mean(), false, [w]);"]),
  }),
  predict: (runs, body) => ({ before: [model], run: loop(runs, body, ["model.predict(x).dispose();"]) }),
  mark: (runs, body) => ({ before: [], run: loop(runs, body, ['markPeriod("request");']) }),
  nothing: (runs, body) => ({ before: [], run: loop(runs, body, []) }),
  fit: (runs, body) => ({
    before: [model, 'model.compile({ optimizer: "sgd", loss: "meanSquaredError" });', "const y = tf.zeros([8, 2]);"],
    run: [
      "const onEpochEnd = (i) => {",
      ...body,
      "};",
      `await model.fit(x, y, { epochs: ${runs}, batchSize: 8, verbose: 0, callbacks: { onEpochEnd } });`,
    ],
  }),
};
