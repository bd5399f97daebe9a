import type { WithoutDevice } from "../backend.js";

/** As much of `WebGPUBackend` as is read and replaced here. */
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

/** A buffer by its class, which tfjs asks for, without any memory. */
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

/** Every shader is compiled already. */
const allCompiled = new Proxy({}, { has: () => true, get: () => ({ getBindGroupLayout() {} }) });

/** tfjs's own backend and buffer manager, on a device that does nothing: the same kernels make the same buffers. */
export const webgpuWithoutDevice: WithoutDevice = (instance) => {
  const { device, adapterInfo } = instance as WebgpuInstance;
  const Webgpu = instance.constructor as new (device: object, adapterInfo: object) => WebgpuInstance;
  const made = new Webgpu(deviceWithoutGpu(device.limits), {});
  // Not enumerated: it has every property, so that who looks for the one that keeps data by what that has would take this.
  Object.defineProperty(made, "pipelineCache", { value: allCompiled, enumerable: false });
  return Object.assign(made, { adapterInfo });
};
