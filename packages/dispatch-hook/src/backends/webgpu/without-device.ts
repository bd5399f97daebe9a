import type { WithoutDevice } from "../backend.js";

/** The part of `WebGPUBackend` that is read and replaced here. */
interface WebgpuInstance {
  readonly device: { readonly limits: object };
  adapterInfo: object;
  pipelineCache: object;
}

interface BufferWanted {
  readonly size: number;
  readonly usage: number;
  readonly mappedAtCreation?: boolean;
}

/** A buffer of the class that TensorFlow.js checks for, without memory. */
function bufferWithoutMemory({ size, usage, mappedAtCreation = false }: BufferWanted): object {
  const { GPUBuffer } = globalThis as unknown as { readonly GPUBuffer: { readonly prototype: object } };
  const own = (value: unknown) => ({ value, writable: true });
  return Object.create(GPUBuffer.prototype, {
    size: own(size),
    usage: own(usage),
    mapState: own(mappedAtCreation ? "mapped" : "unmapped"),
    getMappedRange: own(() => new ArrayBuffer(size)),
    unmap: own(function (this: { mapState: string }) {
      this.mapState = "unmapped";
    }),
    destroy: own(() => {}),
  }) as object;
}

const pass = { setPipeline() {}, setBindGroup() {}, dispatchWorkgroups() {}, end() {} };
const encoder = { beginComputePass: () => pass, finish() {}, copyBufferToBuffer() {} };

const deviceWithoutGpu = (limits: object): object => ({
  limits,
  features: new Set(),
  queue: { submit() {}, writeBuffer() {} },
  createBuffer: bufferWithoutMemory,
  createBindGroup() {},
  createCommandEncoder: () => encoder,
});

/** Pretends that every shader is compiled. */
const allCompiled = new Proxy({}, { has: () => true, get: () => ({ getBindGroupLayout() {} }) });

/**
 * TensorFlow.js's own backend and buffer manager on a device that does nothing. The same kernels make the same buffers.
 */
export const webgpuWithoutDevice: WithoutDevice = (instance) => {
  const { device, adapterInfo } = instance as WebgpuInstance;
  const Webgpu = instance.constructor as new (device: object, adapterInfo: object) => WebgpuInstance;
  const made = new Webgpu(deviceWithoutGpu(device.limits), {});
  // Not enumerable: the proxy has every property, so code that looks for the data store by its properties would find
  // it.
  Object.defineProperty(made, "pipelineCache", { value: allCompiled, enumerable: false });
  return Object.assign(made, { adapterInfo });
};
