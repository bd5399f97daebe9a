import { row, type Trace } from "@remat/trace";
import { findBackend } from "./find-backend.js";

/**
 * Returns what the library behind the kernels of a step's backend holds beside tensors on a CPU, in bytes: the most of any op. 0 of a backend, or a framework, of which nothing is known.
 *
 * @param isByOneDnn whether TensorFlow computes by oneDNN there
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
