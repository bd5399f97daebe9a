import { Script } from "node:vm";
import { describeLeaks, growing, type LeakReport, LeakWatch } from "@remat/leaks";
import { watchPredictions } from "@remat/mod-tracker";
import * as tf from "@tensorflow/tfjs";
import { healEngine } from "../programs/heal-engine.js";
import { programFile, takeStackInProgram } from "./check-leaks.js";
import { isLeak, type LikeLines, type Place, sourceOfLikeLines } from "./like-lines.js";

/** The report on a program. */
export interface LikeLinesFound {
  /**
   * An error in the report: it names a place that does not leak, or attributes lost tensors to a place that loses none.
   */
  readonly wrong: string | undefined;
  /** Leaking places: how many are named, how many are among uncertain lines, and how many are not mentioned. */
  readonly named: number;
  readonly unclear: number;
  readonly missed: number;
}

/** Runs a watched program, and compares the reported lines with the places that leak. */
export async function checkLikeLines(program: LikeLines): Promise<LikeLinesFound> {
  const source = sourceOfLikeLines(program);
  const run = new Script(`(${source})`, { filename: programFile }).runInThisContext() as (
    given: Readonly<Record<string, unknown>>,
  ) => Promise<void>;
  healEngine();
  const held = new Set<tf.Tensor>();
  let now = 0;
  const watch = new LeakWatch({
    takeStack: takeStackInProgram,
    // The program's references, as a heap census would find them.
    census: program.hasCensus
      ? () => ({
          tensors: [...held].filter((tensor) => !tensor.isDisposed),
          arrays: [],
          heapBytes: 0,
          arrayBytes: 0,
          residentBytes: undefined,
        })
      : undefined,
    now: () => (now += program.tickMs),
    stacks: program.stacks,
  });
  const over = (): void => void (now += program.runMs);
  const closePredictions = watchPredictions(() => {
    over();
    watch.periodOver("predict");
  });
  try {
    await run({
      tf,
      markPeriod: (kind: string) => {
        over();
        watch.endPeriod(kind);
      },
      hold: (tensor: tf.Tensor) => {
        held.add(tensor);
        return tensor;
      },
      random: numbers(program.stacks.seed),
    });
    return judgeLikeLines(program, watch.report());
  } finally {
    closePredictions();
    watch.close();
    healEngine();
  }
}

/** Compares the lines of a report with the places that leak. */
export function judgeLikeLines(program: LikeLines, report: LeakReport): LikeLinesFound {
  const source = sourceOfLikeLines(program);
  const places = placesIn(source);
  const placesThat = (does: (place: Place) => boolean): ReadonlySet<string> =>
    new Set(program.places.flatMap((place, k) => (does(place) ? [place.isInHelper ? "helper" : `${k}`] : [])));
  const guilty = placesThat(isLeak);
  const losing = placesThat(({ habit }) => habit === "lost");
  const leaks = growing(report);
  const named = leaks.flatMap(({ line }) => (line === undefined ? [] : [placeAt(line, places)]));
  const innocent = named.filter((place) => !guilty.has(place));
  const unnamed = [...guilty].filter((place) => !named.includes(place));
  const unsure = leaks
    .flatMap(({ lines = [] }) => lines)
    .map(({ line, share }) => ({ place: placeAt(line, places), share }));
  const possible = unsure.map(({ place }) => place);
  const losingNone = unsure.filter(({ place, share }) => share !== undefined && !losing.has(place));
  // Without a stack no line is reported.
  const isUnknown = leaks.some(({ lines }) => lines?.length === 0);
  const missed = unnamed.filter((place) => !isUnknown && !possible.includes(place));
  const wrong = [
    ...(innocent.length > 0 ? [`named ${innocent.join(", ")}, where ${[...guilty].join(", ")} leaks`] : []),
    ...losingNone.map(({ place }) => `${place} has a share of the lost tensors, and loses none`),
  ];
  return {
    wrong: wrong.length === 0 ? undefined : [...wrong, ...describeLeaks(report)].join("\n"),
    named: guilty.size - unnamed.length,
    unclear: unnamed.length - missed.length,
    missed: missed.length,
  };
}

interface Marked {
  readonly place: string;
  readonly line: number;
  readonly column: number;
}

function placesIn(source: string): readonly Marked[] {
  return source
    .split("\n")
    .flatMap((text, i) =>
      [...text.matchAll(/\/\*(\w+)\*\//g)].map(({ 1: place, index }) => ({ place, line: i + 1, column: index + 1 })),
    );
}

/** The last mark before it on the same line. The source begins with a parenthesis. */
function placeAt(place: string, marked: readonly Marked[]): string {
  const [, line, column] = /:(\d+):(\d+)$/.exec(place)!;
  const before = marked.filter((each) => each.line === Number(line) && each.column <= Number(column));
  return before.at(-1)?.place ?? place;
}

/** Returns a generator of numbers from 0 to 1. */
export function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
