import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The folder of the clone. */
export const root: string = fileURLToPath(new URL("../../../", import.meta.url));
export const docs = `${root}docs/`;

/** The README and the pages in docs. */
export const pages: readonly { readonly path: string; readonly text: string }[] = [
  `${root}README.md`,
  ...readdirSync(docs, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `${docs}${name}`),
].map((path) => ({ path, text: readFileSync(path, "utf8") }));

/** `<!-- example: ARGS -->` and the block below it: a typed line, and what `remat ARGS` prints. */
const example = /<!-- example: (.+) -->\n\n```text\n\$ remat (.+)\n\n([\s\S]*?)```/g;

/** A printed example of a page. */
export interface Example {
  /** The path of its page. */
  readonly page: string;
  /** The arguments that the test passes, separated by spaces. */
  readonly args: string;
  /** The arguments as a reader types them. */
  readonly typed: string;
  readonly output: string;
}

export const examples: readonly Example[] = pages.flatMap(({ path: page, text }) =>
  Array.from(text.matchAll(example), ([, args, typed, output]) => ({ page, args, typed, output })),
);
