import { rename, rm, writeFile } from "node:fs/promises";
import { type Plan, RematError, writePlan } from "@remat/trace";

/** Writes a plan to the file that `-o` names. */
export async function writePlanFile(plan: Plan, path: string): Promise<void> {
  await writeWhole(writePlan(plan), path, "-o");
}

/** Writes beside the destination and renames, so that a file that was there is lost only to a whole new one. */
export async function writeWhole(text: string, path: string, option: string): Promise<void> {
  const partial = `${path}.${process.pid}.part`;
  try {
    await writeFile(partial, text);
    await rename(partial, path);
  } catch (cause) {
    await rm(partial, { force: true });
    throw new RematError(
      "PLAN_WRITE",
      `${path}: cannot be written (${(cause as Error).message}). Choose another file with ${option}.`,
      { cause },
    );
  }
}
