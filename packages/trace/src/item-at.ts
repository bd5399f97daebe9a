/**
 * Returns an item of a list that must exist.
 *
 * @throws RangeError if the list has no such item
 * @example
 * itemAt(trace.modules, itemAt(trace.calls.module, call)).fqn;
 */
export function itemAt<Item>(items: ArrayLike<Item>, index: number): Item {
  const item = items[index];
  if (item === undefined) throw new RangeError(`a list of ${items.length} has no item ${index}`);
  return item;
}
