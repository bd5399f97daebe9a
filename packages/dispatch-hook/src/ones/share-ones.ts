import type { KernelAttributes } from "@remat/kernels";
import { div, getGradient, mul, reshape, type Tensor, util } from "@tensorflow/tfjs-core";
import { type EngineTapeNode, engineInternals } from "../engine-internals.js";
import { onesArray } from "./ones-array.js";
import { digestOf } from "./text-digest.js";

type Gradient = (dy: Tensor, x: Tensor, axes: readonly number[]) => () => Tensor;

/** What tfjs's own functions do, kernel by kernel, but that the ones are there already. */
const gradients: Readonly<Record<string, { readonly digest: string; readonly gradient: Gradient }>> = {
  Mean: {
    digest: "97b088187c4cffe2",
    gradient: (dy, x, axes) => () => {
      const reduced = axes.map((axis) => x.shape[axis]);
      return div(mul(withAxes(dy, x, axes), onesLike(x)), util.sizeFromShape(reduced));
    },
  },
  Sum: {
    digest: "28b85cbb0b82d3f4",
    gradient: (dy, x, axes) => {
      const dx = mul(withAxes(dy, x, axes), onesLike(x));
      return () => dx;
    },
  },
};

function withAxes(dy: Tensor, x: Tensor, axes: readonly number[]): Tensor {
  const shape = x.shape.slice();
  for (const axis of axes) shape[axis] = 1;
  return reshape(dy, shape);
}

function onesLike({ size, shape }: Tensor): Tensor {
  const engine = engineInternals();
  return engine.makeTensor(onesArray(size, engine.backendInstance?.skipsFills), shape, "float32");
}

/** By function; a gradient function that a user has registered in place of tfjs's is theirs. */
const isOwn = new WeakMap<object, boolean>();

/** By its text, without what the bundles of tfjs differ in. @internal */
export function isGradientOfTfjs(kernel: string, gradient: object): boolean {
  let own = isOwn.get(gradient);
  if (own === undefined) {
    const text = String(gradient)
      .replace(/\s+/g, "")
      .replace(/\butil(_exports)?\d*\./g, "")
      .replace(/'/g, '"')
      .replace(/(\w+?)\$?\d+\(/g, "$1(");
    own = digestOf(text) === gradients[kernel].digest;
    isOwn.set(gradient, own);
  }
  return own;
}

/**
 * Where the gradient function of a tape node is one of tfjs's that multiply with as many ones as the input has elements, an array that JavaScript
 * fills anew for each: has it multiply with views of one array. Kernels and values stay.
 *
 * @internal
 */
export function shareOnes(node: EngineTapeNode, attributes: KernelAttributes | undefined): void {
  const { kernelName, gradient: stock, saved } = node;
  if (!Object.hasOwn(gradients, kernelName) || stock === undefined || saved?.length !== 1) return;
  const registered = getGradient(kernelName)?.gradFunc;
  if (registered === undefined || !isGradientOfTfjs(kernelName, registered)) return;
  const { gradient } = gradients[kernelName];
  node.gradient = (dys) => {
    const [dy] = dys;
    if (dy == null) return stock(dys);
    // The list may have got other tensors since.
    const [x] = saved;
    return { x: gradient(dy, x, util.parseAxisParam(attributes?.["axis"] as number[], x.shape)) };
  };
}
