import type { EngineMethods, Overview } from "./engine/answers.js";
import type { Store } from "./state.js";
import type { PolicyFeed } from "./views/policy-feed.js";

/** What every view is given. */
export interface PageContext {
  readonly engine: EngineMethods;
  readonly overview: Overview;
  readonly store: Store;
  readonly policies: PolicyFeed;
}

/** Tells an op's name and module, for labels. */
export function describeOp({ ops, names, modules }: Overview, op: number): string {
  const module = ops.module[op];
  return `op ${op} ${names[ops.name[op]]}${module < 0 ? "" : ` in ${modules[module]}`}`;
}

/**
 * Asks one question at a time: of those that come while one is answered, only the last is asked. An answer that is out of date by then is
 * ignored, unless `usesAll` says that it is better than none, as while a slider moves.
 */
export function latest(usesAll = false): <T>(question: () => Promise<T>, use: (answer: T) => void) => void {
  let asked = 0;
  let isBusy = false;
  let waiting: (() => void) | undefined;
  return (question, use) => {
    const mine = ++asked;
    const run = (): void => {
      isBusy = true;
      void question()
        .then((answer) => {
          if (usesAll || mine === asked) use(answer);
        })
        .finally(() => {
          isBusy = false;
          const next = waiting;
          waiting = undefined;
          next?.();
        });
    };
    if (isBusy) waiting = run;
    else run();
  };
}
