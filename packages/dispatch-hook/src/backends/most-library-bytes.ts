import { row, type Trace } from "@remat/trace";
import { findBackend } from "./find-backend.js";

/**
 * Returns the memory in bytes that the library behind a step's kernels uses on a CPU outside of tensors: the maximum of
 * all ops. 0 for an unknown backend or framework.
 *
 * @param isByOneDnn whether TensorFlow uses oneDNN
 * @example
 * mostLibraryBytes(await traceFakeStep(model, { batch: 32 }), usesOneDnn() ?? false);
 */
export function mostLibraryBytes({ header, ops, strings, tensors }: Trace, isByOneDnn: boolean): number {
  const { libraryBytes } = findBackend(header.backend ?? "");
  if (libraryBytes === undefined) return 0;
  const shapesOf = (of: Int32Array): readonly (readonly number[])[] =>
    Array.from(of, (tensor) => Array.from(row(tensors.shape, tensor)));
  let most = 0;
  for (let op = 0; op < ops.count; op++) {
    const kernel = strings[ops.name[op]];
    const shapes = { kernel, inputs: shapesOf(row(ops.inputs, op)), outputs: shapesOf(row(ops.outputs, op)) };
    most = Math.max(most, libraryBytes(shapes, isByOneDnn));
  }
  return most;
}
