import { readdirSync } from "node:fs";
import type { BuildArgs, Example } from "../example.js";

/** An example's `build`; none of these are asynchronous. */
export type Build = (args: BuildArgs & { readonly objective?: "sum" | "next-token" }) => Example;

const folder = new URL("..", import.meta.url);

/** The folders that hold a model. */
export const exampleNames: readonly string[] = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && readdirSync(new URL(`${entry.name}/`, folder)).includes("model.js"))
  .map((entry) => entry.name);

/** The default export of an example. */
export async function exampleNamed(name: string): Promise<Build> {
  return ((await import(`../${name}/model.js`)) as { default: Build }).default;
}
