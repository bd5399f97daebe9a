import { getGradient } from "@tensorflow/tfjs-core";
import { isGradientOfTfjs } from "./is-gradient-of-tfjs.js";

/** For each saved tensor, an input or the output `y`, the inputs whose gradients read its values. */
type Readers = Readonly<Record<string, readonly string[]>>;

const forShape = (...saved: readonly string[]): Readers => Object.fromEntries(saved.map((name) => [name, []]));
const forEachOther = (a: string, b: string): Readers => ({ [a]: [b], [b]: [a] });

/** Saved tensors that the gradient functions of tfjs-core 4.22 read (engine rule 12). Unlisted ones are always read. */
const readers: Readonly<Record<string, Readers>> = {
  Add: forShape("a", "b"),
  BatchMatMul: forEachOther("a", "b"),
  Conv2D: forEachOther("x", "filter"),
  Conv2DBackpropInput: forEachOther("dy", "filter"),
  Conv3D: forEachOther("x", "filter"),
  Cumsum: forShape("x"),
  DepthwiseConv2dNative: forEachOther("x", "filter"),
  ExpandDims: forShape("input"),
  FloorDiv: { a: ["b"], b: ["a", "b"] },
  GreaterEqual: { a: ["a"], b: ["b"] },
  Mean: forShape("x"),
  MirrorPad: forShape("x"),
  Mod: { a: ["b"], b: ["b"] },
  Multiply: forEachOther("a", "b"),
  OneHot: forShape("indices"),
  PadV2: forShape("x"),
  Pow: { b: ["a"], y: ["b"] },
  Prelu: { alpha: ["x"] },
  RealDiv: { a: ["b"], b: ["a", "b"] },
  Reshape: forShape("x"),
  Slice: forShape("x"),
  Sub: forShape("a", "b"),
  Sum: forShape("x"),
};

/** These need only the shapes of a list of inputs that is saved as a whole. */
const listsForShape: ReadonlySet<string> = new Set(["AddN", "Concat", "Pack"]);

/**
 * Returns the names of the inputs whose gradients read the saved tensor with index `i` of `kernel`. Empty if only shape
 * and dtype are read. Undefined if unknown, so that any gradient may read it.
 *
 * @internal
 */
export function readersOf(kernel: string, i: number): readonly string[] | undefined {
  if (listsForShape.has(kernel)) return isGradientOfTfjs(kernel) ? [] : undefined;
  const ofKernel = readers[kernel];
  if (ofKernel === undefined || !isGradientOfTfjs(kernel)) return undefined;
  // In the order in which the engine saves them: inputs in this order, then the output.
  const names = [...(getGradient(kernel)?.inputsToSave ?? []), "y"];
  return ofKernel[names[i]];
}
