import { backend_util, type TensorInfo, util } from "@tensorflow/tfjs-core";
import { type Infer } from "../../kernels/index.js";
import { plainRule } from "../../kernels/plain-rule.js";

/**
 * The memory of an Einsum on the cpu backend, which permutes, reshapes and multiplies operand by operand, and sums
 * dimension by dimension. All temporaries stay alive until it ends.
 */
export const einsumOnCpu: Infer<TensorInfo[], { equation: string }> = (tensors, attributes, call) => {
  const { allDims, summedDims, idDims } = backend_util.decodeEinsumEquation(attributes.equation, tensors.length);
  if (tensors.some(({ shape }, i) => shape.length !== idDims[i].length))
    return plainRule("Einsum")(tensors, attributes, call);
  backend_util.checkEinsumDimSizes(allDims.length, idDims, tensors as never);
  const { path, steps } = backend_util.getEinsumComputePath(summedDims, idDims);
  const held: TensorInfo[] = [];
  const hold = (tensor: TensorInfo): TensorInfo => {
    held.push(tensor);
    return tensor;
  };
  let out: TensorInfo | undefined;
  let remaining = allDims.length;
  steps.forEach((terms, step) => {
    for (const term of terms) {
      const { permutationIndices: perm, expandDims } = backend_util.getEinsumPermutation(remaining, idDims[term]);
      let x = tensors[term];
      if (!backend_util.isIdentityPermutation(perm)) x = hold(call.run("Transpose", { x }, { perm }));
      const shape = x.shape.slice();
      for (const dim of expandDims) shape.splice(dim, 0, 1);
      if (!util.arraysEqual(x.shape, shape)) x = hold(call.run("Reshape", { x }, { shape }));
      out = out === undefined ? x : hold(call.run("Multiply", { a: x, b: out }));
    }
    if (step === steps.length - 1) return;
    if (path[step] >= 0) {
      const axis = path[step] - (allDims.length - remaining);
      out = hold(call.run("Sum", { x: out as TensorInfo }, { axis, keepDims: false }));
    }
    remaining--;
  });
  for (const tensor of held) if (tensor !== out) call.release(tensor);
  return out as TensorInfo;
};
