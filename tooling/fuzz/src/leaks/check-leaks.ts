import { Script } from "node:vm";
import {
  describeLeaks,
  growing,
  heapCensus,
  LeakWatch,
  type SourceSite,
  siteOfFrames,
  type TakeCensus,
} from "@remat/leaks";
import { watchPredictions } from "@remat/mod-tracker";
import * as tf from "@tensorflow/tfjs";
import { healEngine } from "../programs/heal-engine.js";

/** The leaks of a line: how many tensors of each fate, or how many arrays of values. */
type Leaks = Map<string, number>;

/** The file name given to a program. */
export const programFile = "/program.js";
const skippedCensuses = 2;

/**
 * Runs a watched program, and compares the reported leaks with its comments (`// leaks 12 lost, 12 held`). Returns any
 * difference, or undefined. For values that are kept, numbers are not compared, since reports show those of the last
 * census.
 */
export async function checkLeaks(source: string): Promise<string | undefined> {
  const run = new Script(`(${source})`, { filename: programFile }).runInThisContext() as (
    given: Readonly<Record<string, unknown>>,
  ) => Promise<void>;
  healEngine();
  // The number of stacks taken must not depend on time: by this clock they take none.
  const watch = new LeakWatch({
    takeStack: takeStackInProgram,
    census: lateCensus(),
    now: () => 0,
  });
  const closePredictions = watchPredictions(() => watch.periodOver("predict"));
  const before = tf.memory().numTensors;
  try {
    await run({ tf, markPeriod: (kind: string) => watch.endPeriod(kind) });
    const report = watch.report();
    const alive = tf.memory().numTensors - before;
    const found = new Map<string, number>();
    const add = (key: string, count: number) => count > 0 && found.set(key, (found.get(key) ?? 0) + count);
    for (const { line, origin, count, lost, held } of growing(report)) {
      const place = line?.replace(`${programFile}:`, "").replace(/:\d+$/, "") ?? "nowhere";
      if (origin === "values") found.set(`${place} values`, 1);
      else {
        add(`${place} lost`, lost);
        add(`${place} held`, held);
        add(`${place} alive`, count - lost - held);
      }
    }
    const differences = differenceOf(plantedIn(source), found);
    if (report.count !== alive) differences.push(`${report.count} tensors alive, of ${alive} that there are`);
    return differences.length === 0 ? undefined : [differences.join("; "), ...describeLeaks(report)].join("\n");
  } finally {
    closePredictions();
    watch.close();
    healEngine();
  }
}

function plantedIn(source: string): Leaks {
  const planted: Leaks = new Map();
  for (const [i, text] of source.split("\n").entries())
    for (const leak of / leaks (.*)$/.exec(text)?.[1].split(", ") ?? []) {
      const [, count = "1", what] = /^(?:(\d+) )?(\w+)$/.exec(leak) ?? [];
      const key = `${i + 1} ${what}`;
      planted.set(key, (planted.get(key) ?? 0) + Number(count));
    }
  return planted;
}

/** A census takes a second in a process with all of the fuzzer in it, and the later ones are more informative. */
function lateCensus(): TakeCensus | undefined {
  const census = heapCensus();
  let skipped = 0;
  return census && ((withArrays) => (skipped++ < skippedCensuses ? undefined : census(withArrays)));
}

/**
 * Captures the stack of the running code. It is not mapped to the sources of the fuzzer, which would take a hundred
 * times as long.
 */
export function takeStackInProgram(): () => SourceSite {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 200;
  const error = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  return () => siteOf(error);
}

/** V8 prepares a stack when it is first read. */
function siteOf(error: Error): SourceSite {
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = (_, sites) => sites;
  const sites = error.stack as unknown as readonly NodeJS.CallSite[];
  Error.prepareStackTrace = prepareStackTrace;
  return siteOfFrames(
    sites.map((site) => {
      const file = site.getFileName() ?? "";
      return { name: site.getFunctionName() ?? "", file, isOfUser: file === programFile, site };
    }),
    ({ site, file }) => `${file}:${site.getLineNumber()}:${site.getColumnNumber()}`,
  );
}

/** For a line that leaks in two ways the sum is compared, since their shares are those of the last census. */
function differenceOf(planted: Leaks, found: Leaks): string[] {
  const lines = [...new Set([...planted.keys(), ...found.keys()].map((key) => key.split(" ")[0]))];
  return lines.flatMap((line) => {
    const of = (leaks: Leaks) =>
      [...leaks].filter(([key]) => key.startsWith(`${line} `)).toSorted(([a], [b]) => (a < b ? -1 : 1));
    const [wanted, got] = [of(planted), of(found)];
    const sumOf = (leaks: typeof got) => leaks.reduce((sum, [, count]) => sum + count, 0);
    const kindsOf = (leaks: typeof got) => leaks.map(([key]) => key).join();
    if (kindsOf(wanted) === kindsOf(got) && sumOf(wanted) === sumOf(got)) return [];
    const tell = (leaks: typeof got) =>
      leaks.map(([key, count]) => `${count} ${key.split(" ")[1]}`).join(", ") || "none";
    return [`line ${line}: ${tell(got)} found, of ${tell(wanted)} planted`];
  });
}
