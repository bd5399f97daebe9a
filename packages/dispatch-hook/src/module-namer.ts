/** Returns the name of the running module for messages. Undefined if none is running. */
export type ModuleNamer = () => string | undefined;

const namers: ModuleNamer[] = [];

/**
 * Registers a function that names the running module, so that errors of fake mode can show it. The function registered
 * last is used. Returns a function that removes it.
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

/** Returns the name of the running module, if a tracker names it. */
export const runningModule = (): string | undefined => namers.at(-1)?.();
