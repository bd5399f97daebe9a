/** The network that connects devices of one kind when a model is sharded over them. */
export interface DeviceNetwork {
  /** Devices per node. */
  readonly perNode: number;
  /**
   * Bandwidth from one device to others in its node, in each direction at the same time, in GB/s (1e9 bytes per
   * second).
   */
  readonly nodeGBps: number;
  /** Bandwidth from one device to devices in other nodes, in GB/s. */
  readonly betweenGBps: number;
  /** Added latency of a message from one device to the next, in microseconds. */
  readonly latencyUs: number;
}

/** The properties of a device that the roofline cost model and the allocator model use. */
export interface DeviceSpec {
  /** Short name, as used on the command line (`a100`). */
  readonly name: string;
  /** Peak dense throughput in TFLOP/s by dtype. A dtype without an entry has the throughput of `float32`. */
  readonly tflops: Readonly<Record<string, number>>;
  /** Memory bandwidth in GB/s (1e9 bytes). */
  readonly memoryGBps: number;
  /** Memory of the device in bytes, if known. */
  readonly memoryBytes?: number;
  /**
   * Bandwidth of the link between device and host memory in each direction, in GB/s. Left out if the device uses host
   * memory.
   */
  readonly linkGBps?: number;
  /** How several of these devices are connected, if known. */
  readonly network?: DeviceNetwork;
  /**
   * Allocations are rounded up to a multiple of this many bytes: 512 for PyTorch's CUDA caching allocator, 1 elsewhere.
   */
  readonly allocationUnitBytes: number;
  /** Price of one device per hour, in any currency, if given. */
  readonly pricePerHour?: number;
  /**
   * For a CPU: whether TensorFlow uses oneDNN, which computes convolutions without a copy of their patches. Left out if
   * unknown.
   */
  readonly oneDnn?: boolean;
  /** Source of the numbers. */
  readonly source?: string;
}
