import { Category, type Trace } from "@remat/trace";
import { allocatedSizes } from "../allocators/device-units.js";

const resting: ReadonlySet<number> = new Set([
  Category.parameter,
  Category.buffer,
  Category.optimizerState,
  Category.input,
]);

/**
 * Returns the memory of the trace's device that is in use before and after the step, in bytes rounded up to the
 * allocation unit: weights, optimizer state and the batch.
 */
export function restingBytes(trace: Trace): number {
  const { storages, strings, header } = trace;
  const device = strings.indexOf(header.device);
  const sizes = allocatedSizes(trace);
  let sum = 0;
  for (let s = 0; s < storages.count; s++)
    if (storages.device[s] === device && resting.has(storages.category[s])) sum += sizes[s];
  return sum;
}
