/**
 * Works on items in their order, so many of them at once.
 *
 * @template Item, Result
 * @param {readonly Item[]} items
 * @param {number} atOnce
 * @param {(item: Item) => Promise<Result>} work
 * @returns {Promise<Result[]>} of each item, in their order
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
