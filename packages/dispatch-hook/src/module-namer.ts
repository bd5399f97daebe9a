/** Names the module that is running, for messages; `undefined` where none is. */
export type ModuleNamer = () => string | undefined;

const namers: ModuleNamer[] = [];

/**
 * Lets a module tracker say which module is running, so that errors of fake mode can name it. The last one that was given is asked.
 * Returns the function that takes it away again.
 *
 * @example
 * const stop = nameModulesBy(() => tracker.innermost?.fqn);
 */
export function nameModulesBy(namer: ModuleNamer): () => void {
  const own: ModuleNamer = () => namer();
  namers.push(own);
  return () => {
    const at = namers.indexOf(own);
    if (at >= 0) namers.splice(at, 1);
  };
}

/** Returns the name of the module that is running, if a tracker names it. */
export const runningModule = (): string | undefined => namers.at(-1)?.();
