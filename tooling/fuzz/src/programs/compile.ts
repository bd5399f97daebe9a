import * as tf from "@tensorflow/tfjs";
import type { Program as Runnable } from "../../../../packages/checkpoint/test/users/ways.js";
import { type Observer, observerOf } from "./observe.js";

/** Wraps a function whose inside may be recomputed. */
export type Block = <T extends (...args: never[]) => unknown>(fn: T) => T;

interface Surroundings {
  readonly tf: typeof tf;
  readonly t: Observer;
  readonly block: Block;
}

export interface Compiling {
  readonly block?: Block;
  readonly observer?: typeof observerOf;
}

/** Compiles a program's source for a way of running it. */
export function compile(source: string, { block = (fn) => fn, observer = observerOf }: Compiling = {}): Runnable {
  // oxlint-disable-next-line typescript/no-implied-eval -- the source is the fuzzer's own.
  const run = new Function(`return ${source}`)() as (surroundings: Surroundings) => Promise<void>;
  return async (session) => {
    await run({ tf, t: observer(session), block });
  };
}
