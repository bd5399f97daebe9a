import { describeLeaks, expectNoLeaks, findLeaks, growing, LeakWatch, leakMatchers } from "@remat/leaks";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";

interface LeakMatchers {
  toLeakTensors(): Promise<void>;
}

beforeAll(async () => {
  await tf.setBackend("cpu");
});

/** The methods of the engine that are its own, in place of its class's. */
const patched = (): readonly string[] =>
  Object.entries(tf.engine()).flatMap(([name, value]) => (typeof value === "function" ? [name] : []));

/** An op after another, of which no sequence comes again. */
function runWithoutRepeating(leak: (i: number) => unknown, seconds: number): ReturnType<LeakWatch["report"]> {
  let ms = 0;
  const random = fc.sample(fc.integer({ min: 0, max: 5 }), { numRuns: seconds * 50, seed: 1 });
  const ops = [tf.relu, tf.sigmoid, tf.tanh, tf.abs, tf.square, tf.neg];
  const x = tf.ones([4]);
  const watch = new LeakWatch({ now: () => ms, census: undefined });
  for (const [i, which] of random.entries()) {
    ms += 20;
    tf.tidy(() => void ops[which](x));
    leak(i);
  }
  const report = watch.report();
  watch.close();
  x.dispose();
  return report;
}

describe("without repetition", () => {
  it("seconds are periods, from the tenth on", () => {
    const held: tf.Tensor[] = [];
    const report = runWithoutRepeating((i) => i % 35 === 0 && held.push(tf.ones([2])), 40);
    expect(report.periods.find(({ kind }) => kind === "second")?.count).toBeGreaterThan(15);
    expect(growing(report)).toMatchObject([{ count: held.length }]);
    expect(describeLeaks(report)[0]).toMatch(
      /^memory grows by [\d.]+ tensors? and .* per second, seen in (?:.*, )?\d+ seconds/,
    );
    tf.dispose(held);
  });

  it("a tensor that is made once and stays is not a leak", () => {
    const held: tf.Tensor[] = [];
    const report = runWithoutRepeating((i) => i < 5 && held.push(tf.ones([2])), 40);
    expect(growing(report)).toEqual([]);
    tf.dispose(held);
  });

  it("and a short run says nothing", () => {
    const held: tf.Tensor[] = [];
    const report = runWithoutRepeating((i) => i % 35 === 0 && held.push(tf.ones([2])), 9);
    expect(report.periods.filter(({ kind }) => kind === "second")).toEqual([]);
    tf.dispose(held);
  });
});

describe("expectNoLeaks", () => {
  it("passes where every run leaves memory as it was, the first one's constants included", async () => {
    const before = patched();
    let constant: tf.Tensor | undefined;
    await expectNoLeaks(() => {
      constant ??= tf.ones([4]);
      tf.tidy(() => constant!.mul(2).dataSync());
    });
    constant?.dispose();
    expect(patched()).toEqual(before);
  });

  it("names the line of a test, as a runner maps it, that maps stacks of dependencies out of node_modules", async () => {
    const { prepareStackTrace } = Error;
    const placeOf = (site: NodeJS.CallSite) =>
      `${site.getFileName()?.replaceAll("node_modules", "mapped")}:${site.getLineNumber()}:7`;
    Error.prepareStackTrace = (error, sites) =>
      [error, ...sites.map((site) => `at ${site.getFunctionName()} (${placeOf(site)})`)].join("\n    ");
    try {
      await expect(expectNoLeaks(() => void tf.ones([3]).square().sum())).rejects.toThrow(
        /expect-no-leaks\.test\.ts:\d+:7: 1 per run, 6 /,
      );
    } finally {
      Error.prepareStackTrace = prepareStackTrace;
    }
  });

  it("fails with line, count and fate of what each run leaves behind", async () => {
    const held: tf.Tensor[] = [];
    const step = () => {
      tf.ones([3]).square().dispose();
      held.push(tf.tidy(() => tf.ones([2, 2]).mul(2)));
    };
    const error: unknown = await expectNoLeaks(step, { runs: 7 }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "TENSORS_LEAK" });
    const lines = (error as Error).message.split("\n");
    expect(lines[0]).toBe("memory grows by 2 tensors and 28 B per run, seen in 8 runs");
    expect(lines[1]).toMatch(/expect-no-leaks\.test\.ts:\d+:\d+: 1 per run, 8 still held, 128 B$/);
    expect(lines[2]).toMatch(/^ {2}tf\.mul float32 \[2,2\], returned out of a tidy; the program still holds it/);
    expect(lines[4]).toMatch(/expect-no-leaks\.test\.ts:\d+:\d+: 1 per run, 8 definitely lost, 96 B$/);
    expect(lines[5]).toMatch(/^ {2}tf\.\w+ float32 \[3\], made outside tf\.tidy$/);
    tf.dispose(held);
  });

  it("is a matcher of expect", async () => {
    expect.extend(leakMatchers);
    const matchers = (fn: () => unknown) => expect(fn) as unknown as LeakMatchers & { readonly not: LeakMatchers };
    await matchers(() => tf.ones([2])).toLeakTensors();
    await matchers(() => tf.ones([2]).dispose()).not.toLeakTensors();
    await expect(matchers(() => tf.ones([2])).not.toLeakTensors()).rejects.toThrow(/expect-no-leaks\.test\.ts:\d+/);
  });

  it("waits for what is asynchronous, and restores the engine where a run fails", async () => {
    const before = patched();
    const report = await findLeaks(async () => {
      const x = tf.ones([2]);
      await x.data();
    });
    expect(growing(report)).toMatchObject([{ count: 6, countPerPeriod: 1, op: "tensor" }]);
    const failing = expectNoLeaks(() => {
      throw new Error("no data");
    });
    await expect(failing).rejects.toThrow("no data");
    expect(patched()).toEqual(before);
  });

  it.each([3, 0, 4.5, Number.NaN])("refuses %d runs", async (runs) => {
    await expect(expectNoLeaks(() => {}, { runs })).rejects.toMatchObject({ code: "LEAK_RUNS" });
  });

  it("finds as many as are planted in random programs", () => {
    const makers = [
      () => tf.ones([2, 3]),
      () => tf.tidy(() => tf.ones([2, 3]).square()),
      () => tf.tidy(() => tf.ones([2, 3]).add(1)),
      () => tf.variable(tf.tidy(() => tf.zeros([3]))),
      () => tf.keep(tf.tidy(() => tf.fill([3, 2], 2).sum(0))),
      () => tf.tensor1d([1, 2]).reshape([2, 1]),
    ];
    /** How many tensors each leaves behind if its result is not disposed of, and if it is. */
    const left = [1, 1, 1, 2, 1, 2];
    const rest = [0, 0, 0, 1, 0, 1];
    const choices = fc.array(fc.record({ maker: fc.nat(makers.length - 1), isDisposed: fc.boolean() }), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(choices, (program) => {
        const made: tf.Tensor[] = [];
        const watch = new LeakWatch({ findsPeriods: false, census: undefined });
        for (let run = 0; run < 6; run++) {
          for (const { maker, isDisposed } of program) {
            const tensor = makers[maker]();
            if (isDisposed) tensor.dispose();
            else made.push(tensor);
          }
          watch.endPeriod("run");
        }
        const report = watch.report();
        watch.close();
        const leaks = growing(report).reduce((sum, { countPerPeriod }) => sum + countPerPeriod, 0);
        const planted = program.map(({ maker, isDisposed }) => (isDisposed ? rest : left)[maker]);
        expect(leaks).toBe(planted.reduce((sum, count) => sum + count, 0));
        tf.disposeVariables();
        tf.dispose(made);
      }),
      { numRuns: 200 },
    );
  });
});
