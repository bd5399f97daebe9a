import type { GroupParameter } from "./parameter-groups.js";

/**
 * Returns the rank that updates each parameter. As in PyTorch's `ZeroRedundancyOptimizer`, ranks get whole parameters.
 * The largest parameter is assigned first, and each goes to the rank with the fewest elements so far. A trace does not
 * show the optimizer's parameter groups, so one group in the order of the model is assumed.
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
