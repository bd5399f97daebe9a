/** How devices of a kind are joined where a model is sharded over them. */
export interface DeviceNetwork {
  /** How many devices a node has. */
  readonly perNode: number;
  /** What one device sends to others of its node in a second, in GB/s (1e9 bytes), while it receives as much. */
  readonly nodeGBps: number;
  /** The same to devices of other nodes. */
  readonly betweenGBps: number;
  /** What a message takes besides, from one device to the next, in microseconds. */
  readonly latencyUs: number;
}

/** What the roofline cost model and the allocator model need to know about a device. */
export interface DeviceSpec {
  /** Short name, as given on the command line (`a100`). */
  readonly name: string;
  /** Peak dense throughput in TFLOP/s by dtype; a dtype that is missing is priced as `float32`. */
  readonly tflops: Readonly<Record<string, number>>;
  /** Memory bandwidth in GB/s (1e9 bytes). */
  readonly memoryGBps: number;
  /** Memory of the device in bytes, where that is known. */
  readonly memoryBytes?: number;
  /** What the link between the device and host memory moves in a second, each way, in GB/s (1e9 bytes); none where the device's memory is the host's. */
  readonly linkGBps?: number;
  /** How several of them are joined, where that is known. */
  readonly network?: DeviceNetwork;
  /** Allocations are rounded up to a multiple of this many bytes: 512 for PyTorch's CUDA caching allocator, 1 elsewhere. */
  readonly allocationUnitBytes: number;
  /** What one costs in an hour, in whatever money, where somebody says so. */
  readonly pricePerHour?: number;
  /** Of a CPU: whether TensorFlow computes there by oneDNN, which lays out no patches of convolutions; left out: nobody says. */
  readonly oneDnn?: boolean;
  /** Where the numbers come from. */
  readonly source?: string;
}
