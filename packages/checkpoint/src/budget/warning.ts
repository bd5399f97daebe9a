/** Codes of what was said in this process. */
const said = new Set<string>();

/** Says something that does not stop the training, once in a process, by Node's warnings; in a browser nobody hears it. @internal */
export function warnOnce(code: string, message: string): void {
  if (said.has(code)) return;
  said.add(code);
  const { process } = globalThis as { readonly process?: Partial<NodeJS.Process> };
  process?.emitWarning?.(message, { type: "RematWarning", code });
}

/** Tells whether it has been said in this process. @internal */
export const hasWarned = (code: string): boolean => said.has(code);

/** Forgets what was said. For tests. @internal */
export const forgetWarnings = (): void => said.clear();
