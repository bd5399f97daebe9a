import { RematError, type Trace } from "@remat/trace";
import { rootModule } from "./match-modules.js";
import { oncePerTrace } from "./once-per-trace.js";
import { parameterGroups } from "./parameter-groups.js";
import { shardedUnits } from "./sharded-units.js";

/**
 * Returns the default patterns for wrapping. Each repeated block is wrapped by itself. If there are none, or if they
 * share a parameter with other modules, each outermost module is wrapped. If these also share a parameter, only the
 * root is wrapped.
 *
 * @throws RematError `SHARDING_PLAN` for a trace without modules
 * @example
 * usualWrap(trace); // ["layers.*"]
 */
export function usualWrap(trace: Trace): readonly string[] {
  return wrapOf(trace);
}

const wrapOf = oncePerTrace((trace): readonly string[] => {
  const root = rootModule(trace);
  return [blocksOf(trace), ["*"]].find((wrap) => wrap.length > 0 && canWrap(trace, root, wrap)) ?? [];
});

function canWrap(trace: Trace, root: number, wrap: readonly string[]): boolean {
  try {
    const plan = { worldSize: 2, wrap };
    parameterGroups(trace, plan, root, shardedUnits(trace, plan, root));
    return true;
  } catch (error) {
    if (error instanceof RematError) return false;
    throw error;
  }
}

/** Returns patterns for the outermost numbered modules, such as `layers.*` of a transformer. */
function blocksOf({ modules }: Trace): readonly string[] {
  const numbered = modules.map(({ fqn }) => /^[^.]+\.((?:[^.\d][^.]*\.)*)\d+$/.exec(fqn)?.[1]);
  return [...new Set(numbered.filter((parent) => parent !== undefined).map((parent) => `${parent}*`))];
}
