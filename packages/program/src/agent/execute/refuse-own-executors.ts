import * as checkpoint from "@remat/checkpoint";
import { RematError } from "@remat/trace";
import { shell } from "@remat/trace/emit";
import { enginePackages } from "../engine-packages.js";

/** What opens a budget or a plan. */
const openers = [
  "withMemoryBudget",
  "openMemoryBudget",
  "withPlan",
  "applyPlan",
] as const satisfies readonly (keyof typeof checkpoint)[];

/** Has a program that would keep a budget or follow a plan of its own be told that ours decides already. Releases and blocks of its own go on. */
export function refuseOwnExecutors(ordered: readonly string[]): void {
  const refusals = openers.map((name) => [
    name,
    () => {
      throw new RematError(
        "TWO_BUDGETS",
        `${name}: this program keeps a budget or follows a plan of its own, and runs within \`${shell`remat exec ${shell.words(ordered)}`}\`, which decides already. Expected one of them: run it by \`remat exec --early-release\`, which tells what its own takes, or by \`node\` alone; or take ${name} out of it.`,
      );
    },
  ]);
  enginePackages["@remat/checkpoint"] = { ...checkpoint, ...Object.fromEntries(refusals) };
}
