import { type Backend, type BackendName, findBackend, isKnown, sharedBuffers } from "@remat/backends";
import { allKernels, type KernelAttributes, type KernelInputs } from "@remat/kernels";
import type { TensorInfo } from "@tensorflow/tfjs-core";
import { FakeBackend } from "./fake-backend.js";
import { FakeData } from "./fake-data.js";

const fakes = new WeakMap<Backend, FakeBackend>();

/**
 * Returns the bytes of the buffers that a kernel will make for its outputs, told before it runs: views of inputs make none, and what the kernel holds only while
 * it runs is not counted. Undefined for a kernel, or a backend, that fake mode does not know, or whose output shapes depend on values.
 *
 * @example
 * outputBytes("tensorflow", "MatMul", { a, b }, {}); // 4 × rows × columns
 */
export function outputBytes(
  backend: Backend | BackendName,
  kernel: string,
  inputs: KernelInputs,
  attributes: KernelAttributes | undefined,
): number | undefined {
  const standsFor = typeof backend === "string" ? findBackend(backend) : backend;
  const infer = allKernels.get(kernel);
  const fake = infer && fakeOf(standsFor);
  if (infer === undefined || fake === undefined) return undefined;
  fake.kernel = kernel;
  const fakes = new Map<unknown, FakeData>();
  const given = fakeInputs(inputs, fakes);
  let outputs: TensorInfo[];
  try {
    outputs = [infer(given as never, (attributes ?? {}) as never, fake)].flat();
  } catch {
    return undefined;
  }
  const counted = new Set<unknown>(fakes.values());
  for (const { output } of sharedBuffers(standsFor, kernel, given, attributes)) counted.add(outputs[output].dataId);
  let bytes = 0;
  for (const { dataId } of outputs) {
    if (counted.has(dataId)) continue;
    counted.add(dataId);
    const { bytes: own, parts } = dataId as FakeData;
    bytes += own + (own === 0 && parts !== undefined ? parts.real.bytes + parts.imag.bytes : 0);
  }
  return bytes;
}

/** Not that of fake mode: nobody watches its data, and no scratch is told. Undefined where the kernels are not known. */
function fakeOf(backend: Backend): FakeBackend | undefined {
  let fake = fakes.get(backend);
  if (fake === undefined) {
    if (!isKnown(backend.kernels)) return undefined;
    fake = new FakeBackend(backend, backend.kernels, allKernels);
    fakes.set(backend, fake);
  }
  return fake;
}

/** The same shapes and dtypes on data of its own, so that no count of the real data changes. */
function fakeInputs(inputs: KernelInputs, fakes: Map<unknown, FakeData>): Record<string, TensorInfo> | TensorInfo[] {
  const fakeOf = ({ dataId, shape, dtype }: TensorInfo): TensorInfo => {
    let fake = fakes.get(dataId);
    if (fake === undefined) {
      fake = new FakeData(dtype, "", 0);
      fakes.set(dataId, fake);
    }
    return { dataId: fake, shape, dtype };
  };
  if (Array.isArray(inputs)) return (inputs as readonly TensorInfo[]).map(fakeOf);
  const named = inputs as Readonly<Record<string, TensorInfo | readonly TensorInfo[] | undefined>>;
  const fake: Record<string, unknown> = {};
  for (const name in named) {
    const input = named[name];
    if (input != null) fake[name] = Array.isArray(input) ? input.map(fakeOf) : fakeOf(input as TensorInfo);
  }
  return fake as Record<string, TensorInfo>;
}
