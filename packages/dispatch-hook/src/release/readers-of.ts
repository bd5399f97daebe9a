import { getGradient } from "@tensorflow/tfjs-core";
import { isGradientOfTfjs } from "./is-gradient-of-tfjs.js";

/** By name of what is saved, an input or the output `y`: the inputs whose gradients read its values. */
type Readers = Readonly<Record<string, readonly string[]>>;

const forShape = (...saved: readonly string[]): Readers => Object.fromEntries(saved.map((name) => [name, []]));
const forEachOther = (a: string, b: string): Readers => ({ [a]: [b], [b]: [a] });

/** What the gradient functions of tfjs-core 4.22 read of what is saved for them (engine rule 12). What is not listed is always read. */
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

/** Of a list of inputs, saved as a whole, these need the shapes. */
const listsForShape: ReadonlySet<string> = new Set(["AddN", "Concat", "Pack"]);

/**
 * The inputs, by name, of whose gradients the gradient function of `kernel` reads the saved tensor of index `i`: none where it looks at shape and dtype
 * only; undefined where nothing is known, so that any of them may.
 *
 * @internal
 */
export function readersOf(kernel: string, i: number): readonly string[] | undefined {
  if (listsForShape.has(kernel)) return isGradientOfTfjs(kernel) ? [] : undefined;
  const ofKernel = readers[kernel];
  if (ofKernel === undefined || !isGradientOfTfjs(kernel)) return undefined;
  // As the engine saves them: inputs in this order, then the output.
  const names = [...(getGradient(kernel)?.inputsToSave ?? []), "y"];
  return ofKernel[names[i]];
}
