import type { DataId } from "@tensorflow/tfjs-core";
import type { InferTable, KernelTraits } from "../kernels/index.js";
import type { DataEntry } from "./data-entry.js";
import type { SharingTable } from "./sharing-rules.js";

/**
 * Properties of a TensorFlow.js backend. To add one, create a folder with such an object and a line in
 * `backend-list.ts`.
 */
export interface Backend {
  /** Name under which tfjs-core registers it. */
  readonly name: string;
  /** Common name, if it differs. */
  readonly alias?: string;
  /** Preference over other backends, as in `registerBackend` of TensorFlow.js. Higher is better. */
  readonly priority: number;
  /** Packages that provide the backend in Node, best first. Undefined if it is not loaded from disk. */
  readonly packages?: readonly BackendPackage[];
  /**
   * Its kernels, with their outputs and scratch memory. Fake mode needs these to simulate the backend, and
   * `kernelsOfBackend` returns them. The tables of TensorFlow.js backends are referenced by name.
   */
  readonly kernels: KernelTable | BackendKernels | Unknown;
  /** For each kernel, the outputs that share an input's buffer, whether or not they have their own `DataId`. */
  readonly sharing: SharingTable;
  /**
   * The input that a kernel overwrites, by kernel. TensorFlow.js does not intend this: other tensors on the same data
   * change as well.
   */
  readonly writesTo?: ReadonlyMap<string, string>;
  /** How to evict and restore the data of living tensors, which plans and budgets need. */
  readonly residency: Residency | Unknown;
  /**
   * How to count and free memory that the backend keeps for later allocations of the same size. Undefined if it keeps
   * none.
   */
  readonly freedMemory?: FreedMemory;
  /**
   * Makes an instance that computes nothing. Not needed if `kernels` is a table, which describes the memory of the
   * kernels.
   */
  readonly withoutDevice?: WithoutDevice;
  /** If its library keeps freed memory, a sentence that explains to the user how to return it to the system. */
  readonly keepsFreedMemory?: string | undefined;
  /**
   * Returns an upper bound in bytes of the memory that the library behind its kernels uses on a CPU outside of tensors
   * while an op runs. The engine does not see this memory. Undefined if unknown.
   */
  libraryBytes?(op: OpShapes, isByOneDnn: boolean): number;
  /** Returns the requested size in bytes of the buffer of a `DataStorage` entry. */
  bytesOf(entry: DataEntry): number;
  /** Returns the `DataId` whose buffer contains an entry, if the entry contains this information. */
  viewOf?(entry: DataEntry): DataId | undefined;
  /**
   * Returns whether its `UnsortedSegmentSum` adds the rows of a segment to zeros one after the other, as 32-bit
   * numbers. Undefined means no. `instance` is undefined if the backend is not loaded.
   */
  addsSegmentsInOrder?(instance: object | undefined): boolean;
  /**
   * Returns how many inputs its `AddN` may have to add them like `Add`, one after the other. 0 or undefined if it adds
   * in another order.
   */
  mostAddedInOrder?(instance: object | undefined): number;
  /** Runs programs on its device. Undefined if no program adds in an unspecified order. */
  readonly programs?: DevicePrograms;
  /** Returns the device of an instance. */
  deviceOf(instance: object | undefined): BackendDevice;
  /** Watches whether an instance's device loses all data, as a page's WebGL context may. Undefined if it never does. */
  watchDevice?(instance: object): DeviceWatch;
  /** Prepares the process for loading its packages. Node only. */
  prepare?(): void;
  /** Registers gradient kernels that it lacks or computes incorrectly, for training. */
  provideGradientKernels?(): void;
  /** Returns whether the kernel registered under a name is one of these gradient kernels. */
  isProvided?(kernel: string): boolean;
}

/** An op with the shapes of its inputs and outputs, in the order of the kernel's arguments. */
export interface OpShapes {
  /** Name of the kernel. */
  readonly kernel: string;
  /** Shapes of the inputs. */
  readonly inputs: readonly (readonly number[])[];
  /** Shapes of the outputs. */
  readonly outputs: readonly (readonly number[])[];
}

/** An npm package that provides a backend. */
export interface BackendPackage {
  readonly name: string;
  /**
   * For a package with a native addon, the command with which remat builds it, and its name in the cache. Undefined if
   * `npm install` is enough.
   */
  readonly built?: { readonly by: string; readonly as: NativePackage };
  /** For a GPU package that found no GPU and runs on the CPU: the message and the advice. */
  readonly withoutGpu?: { readonly reason: string; readonly fix: string };
}

/** The native packages that remat builds. */
export type NativePackage = "tfjs-node" | "tfjs-node-gpu";

/** Name of a kernel table: that of its backend. */
export type KernelTable = "cpu" | "tensorflow" | "wasm";

/** A property that is unknown for a backend. */
export interface Unknown {
  /** The reason. */
  readonly unknown: string;
}

/** Differences between the kernels of a backend and `allKernels`. */
export interface BackendKernels {
  /** Kernels of `allKernels` that it lacks. */
  readonly lacks: ReadonlySet<string>;
  /** How its kernels differ from those of other backends. */
  readonly traits: KernelTraits;
  /** Rules that replace those of `allKernels` for this backend only. */
  readonly outputs: InferTable;
  /** Rules for kernels that use scratch memory. */
  readonly scratch: InferTable;
}

/** The device of a backend instance. */
export interface BackendDevice {
  /** Name of the device in a trace: `cpu`, `cuda:0`. */
  readonly device: string;
  /** Its allocator rounds up to multiples of this many bytes. */
  readonly allocationUnitBytes: number;
  /** True if kernels may still run after they return. */
  readonly isAsynchronous: boolean;
}

/** The programs that a backend instance runs on its device. */
export interface DevicePrograms {
  /** Name of the instance's method that runs a program, which is its first argument. */
  readonly runBy: string;
  /**
   * Returns whether threads of a program add to the same number in an unspecified order. Results may then differ each
   * time.
   */
  addsInAnyOrder(program: object): boolean;
}

/** Watches a device. */
export interface DeviceWatch {
  /** Returns whether all data was lost, even temporarily. Results computed since then are garbage. */
  isLost(): boolean;
  /** Ends watching. */
  close(): void;
}

/**
 * Returns an instance of the same class on a device that does nothing. Its kernels make the same outputs in the same
 * order and size, without values.
 */
export type WithoutDevice = (instance: object) => object;

/** Freed memory that a backend instance keeps, in bytes. */
export interface FreedMemory {
  /** Returns all allocated memory, including kept memory. */
  allocatedBytes(instance: object): number;
  /** Returns the kept memory. */
  keptBytes(instance: object): number;
  /** Frees memory that waits for queued kernels. */
  settle(instance: object): void;
  /** Returns kept memory to the system until at most `keptBytes` are left. */
  trim(instance: object, keptBytes: number): void;
}

/** Moves the data of `DataStorage` entries of a backend. Tensors on them and counts of the engine do not change. */
export interface Residency {
  /** Frees the data. The entry of `dataId` stays with its references. */
  release(entry: DataEntry, instance: object, dataId: DataId): void;
  /** Moves the data of `from` to `to`. */
  move(from: DataEntry, to: DataEntry): void;
  /** Returns the values if JavaScript can access them without a copy. Valid only until the next change. */
  valuesOf(entry: DataEntry, dataId: DataId, instance: object): ArrayLike<unknown> | null | undefined;
  /** Restores the data from `values`. */
  restore(entry: DataEntry, values: ArrayLike<unknown>, instance: object): void;
}

/** Returns whether a property of a backend is known. */
export const isKnown = <T extends object>(of: T | Unknown): of is T => !("unknown" in of);
