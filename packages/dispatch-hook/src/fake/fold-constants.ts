import { elementsOf } from "@remat/trace";
import {
  type BackendValues,
  type DataType,
  findBackend,
  getKernel,
  type KernelBackend,
  type NamedAttrMap,
  type NamedTensorInfoMap,
  type TensorInfo,
} from "@tensorflow/tfjs-core";
import { randomKernels } from "../kernels/kernel-properties.js";
import { FakeData } from "./fake-data.js";

/** Shapes, axes, counters and ranges are smaller than this. Weights are larger, except for a few that cost nothing. */
const foldedElements = 1024;

/** The part of the cpu backend that is used. */
interface ComputingBackend {
  makeTensorInfo(shape: number[], dtype: DataType, values?: BackendValues): TensorInfo;
  readSync(dataId: object): BackendValues;
  disposeData(dataId: object, force?: boolean): boolean;
}

/**
 * Computes the output of a fake kernel if it is known: shapes that a model reads and computes with (`Shape`,
 * `StridedSlice`, `Pack`, `Reshape` of a converted graph), counters of loops, and axes. All inputs must be known, and
 * one must be a whole number or computed from whole numbers. So values computed only from weights and inputs stay
 * unknown. It uses the cpu backend's kernel if that is loaded, like constant folding in TensorFlow's grappler.
 * @internal
 */
export function foldConstants(
  kernel: string,
  inputs: NamedTensorInfoMap | undefined,
  attributes: NamedAttrMap | undefined,
  made: TensorInfo | TensorInfo[],
): void {
  const known = knownInputs(inputs);
  if (known === undefined) return;
  const outputs = Array.isArray(made) ? made : [made];
  if (!outputs.every(canBeFolded) || randomKernels.has(kernel)) return;
  if (known.length === 0 && !outputs.every(({ dtype }) => isWhole(dtype))) return;
  const values = compute(kernel, inputs, attributes);
  if (values?.length !== outputs.length) return;
  outputs.forEach(({ dataId }, i) => {
    (dataId as FakeData).values = values[i];
    (dataId as FakeData).isFolded = true;
  });
}

const isWhole = (dtype: DataType): boolean => dtype === "int32" || dtype === "bool";

/** Returns undefined if an input is unknown or none is a whole number, which is the case for nearly every call. */
function knownInputs(inputs: NamedTensorInfoMap | undefined): readonly FakeData[] | undefined {
  const known: FakeData[] = [];
  let hasWhole = false;
  for (const name in inputs) {
    const input = inputs[name] as TensorInfo | undefined;
    if (input == null) continue;
    const data = input.dataId;
    if (!(data instanceof FakeData) || data.values === undefined || data.values.length > foldedElements)
      return undefined;
    hasWhole ||= isWhole(data.dtype) || data.isFolded;
    known.push(data);
  }
  return hasWhole || known.length === 0 ? known : undefined;
}

/** Only data without values can be folded. A view is on the data of its source. */
function canBeFolded({ dataId, shape, dtype }: TensorInfo): boolean {
  return (
    dataId instanceof FakeData &&
    dataId.values === undefined &&
    (isWhole(dtype) || dtype === "float32") &&
    elementsOf(shape) <= foldedElements
  );
}

let computing: ComputingBackend | undefined;

/**
 * Returns a separate cpu backend, whose data neither the engine nor a mode sees. Undefined if the cpu backend of
 * TensorFlow.js is not loaded.
 */
function computingBackend(): ComputingBackend | undefined {
  if (computing !== undefined) return computing;
  const loaded = findBackend("cpu") as KernelBackend | null;
  if (loaded === null) return undefined;
  const { constructor } = loaded as unknown as { readonly constructor: new () => ComputingBackend };
  // On first use in Node, the cpu backend would print a recommendation of another backend.
  return (computing = Object.assign(new constructor(), { firstUse: false }));
}

/** Returns undefined if the cpu backend is not loaded, lacks the kernel, or does not accept these inputs. */
function compute(
  kernel: string,
  inputs: NamedTensorInfoMap | undefined,
  attributes: NamedAttrMap | undefined,
): BackendValues[] | undefined {
  const config = getKernel(kernel, "cpu");
  const backend = config && computingBackend();
  if (config === undefined || backend === undefined) return undefined;
  const given: TensorInfo[] = [];
  const place = (input: TensorInfo): TensorInfo => {
    const { dtype, values } = input.dataId as FakeData;
    const placed = backend.makeTensorInfo(input.shape, dtype, values);
    given.push(placed);
    return { ...placed, dtype: input.dtype };
  };
  const placed: Record<string, TensorInfo> | TensorInfo[] = Array.isArray(inputs) ? [] : {};
  for (const name in inputs)
    if (inputs[name] != null) (placed as Record<string, TensorInfo>)[name] = place(inputs[name] as TensorInfo);
  try {
    const results = [
      config.kernelFunc({ inputs: placed as never, backend, ...(attributes && { attrs: attributes }) }),
    ].flat();
    const values = results.map(({ dataId }) => backend.readSync(dataId).slice() as BackendValues);
    for (const { dataId } of results) backend.disposeData(dataId);
    return values;
  } catch {
    return undefined;
  } finally {
    for (const { dataId } of given) backend.disposeData(dataId, true);
  }
}
