/** The most that a choice of items within the budget spares, by trying all. */
export function bestChoice(memory: readonly number[], runtime: readonly number[], budget: number): number {
  let best = 0;
  for (let set = 0; set < 1 << memory.length; set++) {
    let [bytes, spared] = [0, 0];
    for (let i = 0; i < memory.length; i++) {
      if (!((set >> i) & 1)) continue;
      bytes += memory[i];
      spared += runtime[i];
    }
    if (bytes <= budget) best = Math.max(best, spared);
  }
  return best;
}
