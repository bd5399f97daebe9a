import * as checkpoint from "@remat/checkpoint";
import { RematError } from "@remat/trace";
import { shell } from "@remat/trace/emit";
import { enginePackages } from "../engine-packages.js";

/** Functions that start a budget or a plan. */
const openers = [
  "withMemoryBudget",
  "openMemoryBudget",
  "withPlan",
  "applyPlan",
] as const satisfies readonly (keyof typeof checkpoint)[];

/**
 * Makes a program's own attempts to set a budget or apply a plan fail, because the order already decides how steps run.
 * Its own early releases and checkpointed blocks still work.
 */
export function refuseOwnExecutors(ordered: readonly string[]): void {
  const refusals = openers.map((name) => [
    name,
    () => {
      throw new RematError(
        "TWO_BUDGETS",
        `${name}: the program sets its own budget or plan, ` +
          `and \`${shell`remat exec ${shell.words(ordered)}`}\` sets another. ` +
          `Remove ${name} from the program, or run it with \`node\` alone or \`remat exec --early-release\`.`,
      );
    },
  ]);
  enginePackages["@remat/checkpoint"] = { ...checkpoint, ...Object.fromEntries(refusals) };
}
