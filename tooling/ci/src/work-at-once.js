/**
 * Processes items in their order, several at once.
 *
 * @template Item, Result
 * @param {readonly Item[]} items
 * @param {number} atOnce
 * @param {(item: Item) => Promise<Result>} work
 * @returns {Promise<Result[]>} results in the order of the items
 */
export async function workAtOnce(items, atOnce, work) {
  /** @type {Result[]} */
  const results = [];
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const i = next++;
      results[i] = await work(items[i]);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}
