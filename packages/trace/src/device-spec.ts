import type { PhaseName } from "./vocabulary.js";

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

/**
 * Measured speed of one kernel, or of a class of kernels. A call takes `launchUs`, plus its bytes divided by the
 * bandwidths, plus its FLOPs divided by `tflops`. A rate that is left out adds no time.
 */
export interface KernelSpeed {
  /** Time of a call on tiny tensors, in microseconds, without the framework around it. */
  readonly launchUs: number;
  /** Rate at which the first `cacheBytes` of a call's tensors are read and written, in GB/s. */
  readonly memoryGBps?: number;
  /** Rate of the bytes beyond `cacheBytes`, in GB/s. */
  readonly beyondCacheGBps?: number;
  /** Rate of its FLOPs, in TFLOP/s. */
  readonly tflops?: number;
  /** Median relative error of calls that the fit had not seen: 0.1 is 10%. */
  readonly error: number;
  /** Number of distinct calls that were measured. */
  readonly calls: number;
}

/** How the kernel speeds of a device were measured. */
export interface DeviceCalibration {
  /** Backend of TensorFlow.js whose kernels were measured: `tensorflow`, `wasm`, `cpu`. */
  readonly backend: string;
  /** Versions of TensorFlow.js and of the library below it. */
  readonly backendVersion: string;
  /** The processor and the runtime. */
  readonly machine: string;
  /** When it was measured, in ISO 8601. */
  readonly at: string;
  /** Bytes of a call's tensors up to which `memoryGBps` of its kernel applies. */
  readonly cacheBytes: number;
  /** Time that the framework adds to each op, in microseconds. */
  readonly dispatchUs: number;
  /** Rate at which the memory of results is freed after their last use, in GB/s. Left out if freeing takes no time. */
  readonly freeGBps?: number;
  /**
   * Ratio of the launch cost of ops of a phase of training to that of their kernels. An optimizer repeats a few ops in
   * a short loop, so that their code stays in the caches. Default: 1.
   */
  readonly launchFactors?: Readonly<Partial<Record<PhaseName, number>>>;
  /** Median relative error of calls that the fit had not seen, over all kernels. */
  readonly error: number;
  /** Ratio of the last to the first times of the same calls. Far from 1 means that the machine changed its speed. */
  readonly drift: number;
  /** Kernels that could not be measured, and warnings. */
  readonly notes: readonly string[];
}

/**
 * Host time to launch an op that moves data, in microseconds, by framework. PyTorch: 5 to 9 µs in training steps of
 * modules of 2 to 16 units (PyTorch 2.13, one core of an AMD EPYC), and 2 to 3 µs of the CUDA driver. TensorFlow.js: 9
 * µs for an addition, 17 µs for a matrix product and up to 29 µs under gradients (tfjs-node 4.22, same core). Your own
 * code adds to this.
 */
export const hostLaunchUs: Readonly<Record<"pytorch" | "tfjs", number>> = { pytorch: 10, tfjs: 15 };

/** The properties of a device that the roofline cost model and the allocator model use. */
export interface DeviceSpec {
  /** Short name, as used on the command line (`a100`). */
  readonly name: string;
  /** Peak dense throughput in TFLOP/s by dtype. A dtype without an entry has the throughput of `float32`. */
  readonly tflops: Readonly<Record<string, number>>;
  /** Memory bandwidth in GB/s (1e9 bytes). */
  readonly memoryGBps: number;
  /**
   * Shares of the peak FLOP rate and of the memory bandwidth that good kernels reach. Default: 0.75 and 1, as in
   * PyTorch's model.
   */
  readonly achievable?: { readonly compute?: number; readonly memory?: number };
  /**
   * Host time to launch an op, in microseconds, by framework (`tfjs`, `pytorch`). No op that moves data takes less time.
   * Default: 0.
   */
  readonly launchUs?: Readonly<Record<string, number>>;
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
  /**
   * Measured speed by kernel (`Conv2D`), by kind of call of a kernel (`Conv2D/1x1`) or by class of kernels
   * (`convolution`). If given, ops are priced by it instead of by the roofline.
   */
  readonly kernels?: Readonly<Record<string, KernelSpeed>>;
  /** How `kernels` were measured. */
  readonly calibration?: DeviceCalibration;
  /** Source of the numbers. */
  readonly source?: string;
}
