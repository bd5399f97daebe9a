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
        `${name}: the program sets its own budget or plan, and \`${shell`remat exec ${shell.words(ordered)}`}\` sets another. Remove ${name} from the program, or run it with \`node\` alone or \`remat exec --early-release\`.`,
      );
    },
  ]);
  enginePackages["@remat/checkpoint"] = { ...checkpoint, ...Object.fromEntries(refusals) };
}
