import type { ErrorCode } from "@remat/trace";

/** Codes of the warnings already printed in this process. */
const said = new Set<string>();

/** Prints a warning once per process through Node's warnings. Browsers do not show it. @internal */
export function warnOnce(code: ErrorCode, message: string): void {
  if (said.has(code)) return;
  said.add(code);
  const { process } = globalThis as { readonly process?: Partial<NodeJS.Process> };
  process?.emitWarning?.(message, { type: "RematWarning", code });
}

/** Returns whether this warning was printed in this process. @internal */
export const hasWarned = (code: string): boolean => said.has(code);

/** Forgets all printed warnings. For tests. @internal */
export const forgetWarnings = (): void => said.clear();
