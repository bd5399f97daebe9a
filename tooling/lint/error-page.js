/**
 * Writes the page `docs/reference/errors.md`: what each error code means, and what to do about it.
 *
 * @param {Readonly<Record<string, Readonly<Record<string, { readonly meaning: string, readonly cure: string }>>>>} reference of
 *   `packages/trace/src/error-reference.ts`
 */
export function writeErrorPage(reference) {
  const sections = Object.entries(reference).map(([title, entries]) =>
    [
      `## ${title}`,
      ...Object.entries(entries).map(([code, { meaning, cure }]) => `### ${code}\n\n${meaning}\n\n**Fix:** ${cure}`),
    ].join("\n\n"),
  );
  return `${[head, ...sections, tail].join("\n\n")}\n`;
}

/** The page, relative to the root of the workspace. */
export const errorPage = "docs/reference/errors.md";

const head = `# Errors

<!-- Written by \`pnpm errors\` from packages/trace/src/error-reference.ts. Edit that file. -->

An error of remat is one line: the problem, the likely cause, and one thing to do. The command line prints it after \`remat:\`. In
code it is a \`RematError\` with a \`code\`, which stays the same between versions:

\`\`\`ts
import { readTrace, RematError } from "remat";

try {
  await readTrace(new Uint8Array());
} catch (error) {
  if (error instanceof RematError && error.code === "TRACE_NOT_A_TRACE") console.error(error.message);
}
\`\`\`

This page explains each code. To see the code and the call stack of your error, set \`REMAT_DEBUG=1\`. Your scripts can check the
exit code:

| exit code | meaning |
|---|---|
| 0 | success |
| 1 | a model or file cannot be used, nothing fits, or memory grew (\`check\`, \`leaks\`) |
| 2 | the command line is wrong |
| 3 | no plan was found in the given time, but one may exist |
| 130 | Ctrl-C ended the command early |`;

const tail = `## Where to go next

- [Common error messages](../help/errors.md) of PyTorch, TensorFlow.js and the system.
- [Out of memory, explained](../how-to/out-of-memory.md).
- [Questions](../help/questions.md).`;
