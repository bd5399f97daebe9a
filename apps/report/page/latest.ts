/**
 * Asks one question at a time. If several arrive meanwhile, only the last of them is asked. An outdated answer is
 * ignored unless `usesAll` is set: while a slider moves, an outdated answer is better than none.
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
