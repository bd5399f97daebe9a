import { Category, EventKind, minimizeUpdateStartMark, type Trace, updateEndMark, updateStartMark } from "@remat/trace";

const ofVariables: ReadonlySet<number> = new Set([Category.parameter, Category.buffer, Category.optimizerState]);

/**
 * Returns for each storage the op after which early release frees it in an update by one of TensorFlow.js's optimizers,
 * or -1 for storages that only the engine frees. Early release frees the temporaries that the update creates and
 * disposes of, except those that become a variable's value. With `minimize`, it also frees the gradients.
 *
 * @param maker for each storage, the op that makes it
 * @param lastReader for each storage, the last op that reads it
 * @internal
 */
export function freedByUpdates(trace: Trace, maker: Int32Array, lastReader: Int32Array): Int32Array {
  const { events, storages, strings } = trace;
  const freedBy = new Int32Array(storages.count).fill(-1);
  const bornIn = new Int32Array(storages.count).fill(-1);
  const category = storages.category.slice(0, storages.count);
  const isVariables = Uint8Array.from(category, (each) => (ofVariables.has(each) ? 1 : 0));
  /** The number of the update that runs, or of the update to which the last op so far belonged. */
  let update = -1;
  let latest = -1;
  let isOver = true;
  let ownsGradients = false;
  let firstOp = 0;
  let op = -1;
  for (let e = 0; e < events.count; e++) {
    const item = events.subject[e];
    switch (events.kind[e]) {
      case EventKind.mark: {
        const name = strings[item];
        if (name === updateStartMark || name === minimizeUpdateStartMark) {
          update = ++latest;
          isOver = false;
          ownsGradients = name === minimizeUpdateStartMark;
          firstOp = op + 1;
        } else if (name === updateEndMark) isOver = true;
        break;
      }
      case EventKind.op:
        op = item;
        if (isOver) update = -1;
        break;
      case EventKind.allocate:
        bornIn[item] = isOver ? -1 : update;
        break;
      case EventKind.categorize:
        category[item] = events.value[e];
        if (ofVariables.has(category[item])) isVariables[item] = 1;
        break;
      case EventKind.free:
        if (update < 0 || isVariables[item] === 1 || maker[item] < 0) break;
        if (bornIn[item] === update) freedBy[item] = Math.max(maker[item], lastReader[item]);
        else if (ownsGradients && category[item] === Category.gradient && lastReader[item] >= firstOp)
          freedBy[item] = lastReader[item];
        break;
    }
  }
  return freedBy;
}
