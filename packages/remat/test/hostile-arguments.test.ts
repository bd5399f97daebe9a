import { gzipSync } from "node:zlib";
import * as tf from "@tensorflow/tfjs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as facade from "../src/index.js";
import {
  memoryOf,
  plan,
  RematError,
  readPlan,
  readTrace,
  record,
  releaseEarly,
  withMemoryBudget,
  writePlan,
  writeTrace,
} from "../src/index.js";

/** Any values that JavaScript can pass. */
const circular: Record<string, unknown> = {};
circular["itself"] = circular;
const hostile: Readonly<Record<string, unknown>> = {
  undefined: undefined,
  null: null,
  true: true,
  "0": 0,
  "-1": -1,
  "1.5": 1.5,
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "10n": 10n,
  "an empty text": "",
  "a text": "x",
  "a path": "run.remat.jsonl.gz",
  "a symbol": Symbol("x"),
  "a function": () => undefined,
  "an empty list": [],
  "a list": ["x", 1],
  "an empty object": {},
  "an object without a class": Object.create(null),
  "an object that holds itself": circular,
  "fields of a wrong kind": { header: {}, storages: 1, events: 2, ops: 3, subject: {}, steps: 4 },
  "a Map": new Map(),
  "a Date": new Date(0),
  "a promise": Promise.resolve(1),
  "no bytes": new Uint8Array(0),
  bytes: Uint8Array.of(1, 2, 3),
  "gzip of nothing": gzipSync(""),
};

let model: tf.LayersModel;
let trace: facade.Trace;
let planned: facade.Plan;
beforeAll(async () => {
  await tf.setBackend("cpu");
  model = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [3] })] });
  trace = (await memoryOf(model)).trace;
  planned = await plan(model, { budget: "100%", planningMs: 0 });
});
afterAll(() => tf.disposeVariables());

const budget = "100%";
const planningMs = 0;
const step = () => undefined;
/**
 * For each function, one call for each of its arguments and options, with a value in that place and correct values in
 * the others.
 */
const places: Readonly<Record<string, Readonly<Record<string, (value: never) => unknown>>>> = {
  memoryOf: {
    what: (value) => memoryOf(value),
    options: (value) => memoryOf(model, value),
    limit: (limit) => memoryOf(trace, { limit }),
    ...Object.fromEntries(
      ["batch", "optimizer", "loss"].map((option) => [option, (value: never) => memoryOf(model, { [option]: value })]),
    ),
    "batch of a trace": (batch) => memoryOf(trace, { batch }),
  },
  plan: {
    what: (value) => plan(value, { budget, planningMs }),
    options: (value) => plan(trace, value),
    budget: (value) => plan(trace, { budget: value, planningMs }),
    planningMs: (value) => plan(trace, { budget, planningMs: value }),
    device: (device) => plan(trace, { budget, planningMs, device }),
  },
  record: {
    step: (value) => record(value),
    options: (value) => record(step, value),
    ...Object.fromEntries(
      ["model", "name", "steps", "stepsBefore"].map((option) => [
        option,
        (value: never) => record(step, { [option]: value }),
      ]),
    ),
  },
  withMemoryBudget: {
    budget: (value) => withMemoryBudget(value, step),
    fn: (value) => withMemoryBudget(budget, value),
    options: (value) => withMemoryBudget(budget, step, value),
    ...Object.fromEntries(
      ["plan", "planningMs", "online", "strict"].map((option) => [
        option,
        (value: never) => withMemoryBudget(budget, step, { [option]: value }),
      ]),
    ),
  },
  releaseEarly: { nothing: (value) => (releaseEarly as (value: unknown) => () => void)(value)() },
  readPlan: { source: (value) => readPlan(value) },
  writePlan: { plan: (value) => writePlan(value) },
  readTrace: {
    source: (value) => readTrace(value),
    pieces: (value) => readTrace([value]),
    options: (value) => readTrace([...writeTrace(trace)], value),
    ...Object.fromEntries(
      ["name", "onProgress", "damaged"].map((option) => [
        option,
        (value: never) => readTrace([...writeTrace(trace)], { [option]: value }),
      ]),
    ),
  },
  writeTrace: {
    trace: (value) => writeTrace(value),
    options: (value) => writeTrace(trace, value),
    gzip: (gzip) => writeTrace(trace, { gzip }),
  },
};

/** Neither may be called without `new`, and both take what the packages give them. */
const classes = new Set(["BudgetError", "InfeasibleBudgetError", "RematError"]);

it("knows every function of the facade", () => {
  const functions = Object.entries(facade).filter(([, value]) => typeof value === "function");
  expect(
    functions
      .map(([name]) => name)
      .filter((name) => !classes.has(name))
      .toSorted(),
  ).toEqual(Object.keys(places).toSorted());
});

describe.each(Object.entries(places))("%s", (name, ofFunction) => {
  it.each(Object.entries(ofFunction))(
    "takes no raw error from its callers, and leaves nothing: %s",
    async (_place, call) => {
      const engine = () => [tf.memory().numTensors, tf.memory().numDataBuffers, tf.engine().state.activeScope === null];
      const before = engine();
      for (const [what, value] of Object.entries(hostile)) {
        let error: unknown;
        try {
          await call(value as never);
        } catch (thrown) {
          error = thrown;
        }
        // Whatever is not refused is right: a function is a step.
        if (error === undefined) continue;
        expect([what, error]).toEqual([what, expect.any(RematError)]);
        const { message } = error as RematError;
        expect([what, message]).toEqual([
          what,
          expect.stringMatching(
            /[Ee]xpected|Choose one|Use a|Make one|Raise the budget|Trace a training step|Record it again/,
          ),
        ]);
        expect([what, engine()]).toEqual([what, before]);
      }
      expect(name in facade).toBe(true);
    },
  );
});

describe("invalid arguments that used to be accepted silently are rejected by name", () => {
  it.each<[string, () => unknown, string]>([
    [
      "planningMs NaN",
      () => plan(trace, { budget, planningMs: Number.NaN }),
      "plan's option 'planningMs': expected milliseconds from 0 up; found NaN.",
    ],
    [
      "planningMs -1",
      () => plan(trace, { budget, planningMs: -1 }),
      "plan's option 'planningMs': expected milliseconds from 0 up; found -1.",
    ],
    [
      "a text as planningMs",
      () => withMemoryBudget("1GB", step, { planningMs: "x" as never }),
      "withMemoryBudget's option 'planningMs': expected milliseconds from 0 up; found \"x\".",
    ],
    [
      "limit -1",
      () => memoryOf(trace, { limit: -1 }),
      "memoryOf's option 'limit': expected a whole number from 0 up; found -1.",
    ],
    [
      "no function",
      () => withMemoryBudget("1GB", undefined as never),
      "withMemoryBudget's fn: expected a function that trains, such as () => model.fit(x, y); found undefined.",
    ],
    [
      "bytes that are not awaited",
      () => readTrace(Promise.resolve() as never),
      "readTrace's source: expected the bytes of a trace, such as await readFile(path), its text, or a stream of its bytes; found a promise, which must be awaited.",
    ],
  ])("%s", async (_what, call, message) => {
    await expect((async () => call())()).rejects.toMatchObject({ code: "ARGUMENT", message });
  });
});

describe("readTrace", () => {
  it("takes a file's bytes, gzipped or not, and its text", async () => {
    const bytes = Buffer.concat([...writeTrace(trace)]);
    const [whole, zipped, text] = await Promise.all(
      [bytes, gzipSync(bytes), bytes.toString()].map((file) => readTrace(file)),
    );
    for (const read of [whole, zipped, text]) expect(Buffer.concat([...writeTrace(read)])).toEqual(bytes);
  });

  it("takes what was planned back, too", () => {
    expect(readPlan(writePlan(planned))).toEqual(planned);
  });
});

describe("options are an object that is written as one", () => {
  const others = { "a Map": new Map(), "a Date": new Date(0), "a promise": Promise.resolve({}), "a model": undefined };
  it.each(Object.keys(others) as (keyof typeof others)[])("not %s", async (what) => {
    const options = others[what] ?? model;
    for (const call of [() => memoryOf(model, options as never), () => plan(model, options as never)])
      await expect((async () => call())()).rejects.toThrow(RematError);
  });

  it("an unknown option has no effect", async () => {
    const options = { budget: "100%", planningMs: 0, onProgress: 3, recordOptions: null } as const;
    expect((await plan(model, options)).predicted).toEqual(planned.predicted);
  });
});
