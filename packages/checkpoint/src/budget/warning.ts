/** Says something that does not stop the training, by Node's warnings; in a browser nobody hears it. @internal */
export function emitWarning(code: string, message: string): void {
  const { process } = globalThis as { readonly process?: Partial<NodeJS.Process> };
  process?.emitWarning?.(message, { type: "RematWarning", code });
}
