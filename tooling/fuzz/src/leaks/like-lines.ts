import fc from "fast-check";
import { indented } from "../programs/indented.js";

/** The fate of the tensors that one place of a program makes. */
export type Habit = (typeof leaking)[number] | (typeof bounded)[number];

/** A place of a program that makes tensors similar to those of its other places. */
export interface Place {
  readonly habit: Habit;
  /** How many it makes in each run, and in which runs: each, every other, …. */
  readonly perRun: number;
  readonly every: number;
  /** The fraction of the runs that pass before it begins. */
  readonly start: number;
  /** Maximum number that it keeps, as a fraction of those that it makes. */
  readonly bound: number;
  /** True if they are made in a helper, which other places may also call. */
  readonly isInHelper: boolean;
}

/** A program whose places all make tensors with the same op and shape, as data. */
export interface LikeLines {
  readonly making: string;
  readonly ends: "step" | "predict" | "mark";
  readonly runs: number;
  readonly isAsync: boolean;
  /** True if the first two places are on one line. */
  readonly isOneLine: boolean;
  readonly places: readonly Place[];
  /**
   * Limits on stacks, by the watch's clock, which advances by this many milliseconds at every read and with each run.
   */
  readonly stacks: { readonly share: number; readonly free: number; readonly seed: number };
  readonly tickMs: number;
  readonly runMs: number;
  readonly hasCensus: boolean;
}

const leaking = ["lost", "held"] as const;
const bounded = [
  "newest",
  "emptied when full",
  "emptied now and then",
  "random ones dropped",
  "cache",
  "least recently used",
  "once",
  "disposed",
] as const;
const makings = [
  "tf.tensor2d([[i, 2, 3, 4]])",
  "tf.scalar(i)",
  "x.mul(2)",
  "tf.tidy(() => x.add(i).sum())",
  "tf.randomUniform([1, 4])",
];

const place = (habits: readonly Habit[]): fc.Arbitrary<Place> =>
  fc.record({
    habit: fc.constantFrom(...habits),
    perRun: fc.constantFrom(1, 1, 1, 2, 5, 20, 100),
    every: fc.constantFrom(1, 1, 1, 2, 7),
    start: fc.constantFrom(0, 0, 0, 0.1, 0.3),
    bound: fc.constantFrom(0.02, 0.1, 0.3),
    isInHelper: fc.constantFrom(false, false, false, true),
  });

/** Programs with two to four places that make similar tensors, of which none, one or several leak. */
export const likeLines: fc.Arbitrary<LikeLines> = fc.record({
  making: fc.constantFrom(...makings),
  ends: fc.constantFrom<LikeLines["ends"][]>("step", "predict", "mark", "mark"),
  runs: fc.integer({ min: 40, max: 300 }),
  isAsync: fc.boolean(),
  isOneLine: fc.boolean(),
  places: fc
    .tuple(
      fc.oneof({ arbitrary: place(leaking), weight: 4 }, { arbitrary: place(bounded), weight: 1 }),
      fc.array(fc.oneof({ arbitrary: place(bounded), weight: 4 }, { arbitrary: place(leaking), weight: 1 }), {
        minLength: 1,
        maxLength: 3,
      }),
      fc.boolean(),
    )
    .map(([first, others, isLast]) => (isLast ? [...others, first] : [first, ...others])),
  stacks: fc.record({
    share: fc.constantFrom(0, 1e-5, 1e-3, 0.01, 0.04, 1),
    free: fc.constantFrom(0, 8, 40, 400, 4000),
    seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  }),
  tickMs: fc.constantFrom(0.001, 0.02, 0.5),
  runMs: fc.constantFrom(0.1, 1, 20),
  hasCensus: fc.boolean(),
});

/** Returns whether the number of live tensors of a place grows. */
export const isLeak = ({ habit }: Place): boolean => (leaking as readonly Habit[]).includes(habit);

/**
 * Writes a program as JavaScript, a function of `{ tf, markPeriod, hold, random }`. A comment with its number precedes
 * each place that makes tensors.
 */
export function sourceOfLikeLines({ making, ends, runs, isAsync, isOneLine, places }: LikeLines): string {
  const written = places.map((each, k) => {
    const made = each.isInHelper ? "helper(i)" : `/*${k}*/ ${making}`;
    const when = `if (i >= ${Math.floor(each.start * runs)} && i % ${each.every} === 0)`;
    return `${when} for (let n = 0; n < ${each.perRun}; n++) { ${actOf(each, k, runs, made)} }`;
  });
  const [first, second, ...rest] = written;
  const body = isOneLine ? [`${first} ${second}`, ...rest] : written;
  const end = {
    step: "optimizer.minimize(() => x.mul(w).mean(), false, [w]);",
    predict: "model.predict(x).dispose();",
    mark: 'markPeriod("run");',
  }[ends];
  return indented(
    [
      "async ({ tf, markPeriod, hold, random }) => {",
      "const x = hold(tf.ones([1, 4]));",
      "const w = hold(tf.variable(tf.ones([4])));",
      "const optimizer = tf.train.sgd(0.1);",
      "const model = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [4] })] });",
      "const helper = (i) => {",
      `return /*helper*/ ${making};`,
      "};",
      ...places.map((_, k) => `const kept${k} = [], cache${k} = new Map();`),
      `for (let i = 0; i < ${runs}; i++) {`,
      ...body,
      ...(isAsync ? ["await null;"] : []),
      end,
      "}",
      "}",
    ].join("\n"),
  );
}

function actOf({ habit, perRun, every, start, bound }: Place, k: number, runs: number, made: string): string {
  const births = Math.floor(((1 - start) * runs * perRun) / every);
  const most = Math.max(1, Math.floor(bound * births));
  const kept = `kept${k}`;
  const push = `${kept}.push(hold(${made}));`;
  const keys = Math.max(1, Math.floor(most / 3));
  const cached = `const key = Math.floor(random() * ${keys}); if (!cache${k}.has(key)) cache${k}.set(key, hold(${made}));`;
  const acts: Readonly<Record<Habit, string>> = {
    lost: `${made};`,
    held: push,
    newest: `${push} if (${kept}.length > ${most}) ${kept}.shift().dispose();`,
    "emptied when full": `${push} if (${kept}.length >= ${most}) for (const each of ${kept}.splice(0)) each.dispose();`,
    "emptied now and then": `${push} if (random() < ${2 / most} || ${kept}.length >= ${most}) for (const each of ${kept}.splice(0)) each.dispose();`,
    "random ones dropped": `${push} while (${kept}.length > ${most}) ${kept}.splice(Math.floor(random() * ${kept}.length), 1)[0].dispose();`,
    cache: cached,
    "least recently used": `const key = Math.floor(random() * ${2 * keys}); if (!cache${k}.has(key)) cache${k}.set(key, hold(${made})); if (cache${k}.size > ${keys}) { const [old, tensor] = cache${k}.entries().next().value; cache${k}.delete(old); tensor.dispose(); }`,
    once: `if (${kept}.length < 3) ${push}`,
    disposed: `${made.replace(/^/, "const t = ")}; t.dispose();`,
  };
  return acts[habit];
}
