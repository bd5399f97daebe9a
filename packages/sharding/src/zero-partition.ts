import type { GroupParameter } from "./parameter-groups.js";

/**
 * Returns the rank that updates each parameter, as PyTorch's `ZeroRedundancyOptimizer` gives whole parameters out: the largest first, each to the rank that has fewest elements so far. A trace does not tell an
 * optimizer's groups of parameters: one is meant, which has them in the order of the model.
 *
 * Source: `_partition_parameters` of `torch/distributed/optim/zero_redundancy_optimizer.py` of PyTorch 2.13.
 */
export function zeroPartition(parameters: readonly Pick<GroupParameter, "elements">[], ranks: number): Int32Array {
  const rankOf = new Int32Array(parameters.length);
  const elements = new Float64Array(ranks);
  const largestFirst = [...parameters.keys()].sort((a, b) => parameters[b].elements - parameters[a].elements);
  for (const place of largestFirst) {
    const rank = elements.indexOf(Math.min(...elements));
    rankOf[place] = rank;
    elements[rank] += parameters[place].elements;
  }
  return rankOf;
}
