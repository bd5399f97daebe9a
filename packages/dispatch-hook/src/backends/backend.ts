import type { DataId } from "@tensorflow/tfjs-core";
import type { InferTable, KernelTraits } from "../kernels/index.js";
import type { DataEntry } from "./data-entry.js";
import type { SharingTable } from "./sharing-rules.js";

/** What is special about one backend of tfjs. One that is new is a folder with one of these, and a line in `backend-list.ts`. */
export interface Backend {
  /** As tfjs-core registers it. */
  readonly name: string;
  /** What people call it, where that is something else. */
  readonly alias?: string;
  /** How good it is beside others: the higher, the better, as tfjs has it in `registerBackend`. */
  readonly priority: number;
  /** What brings it in Node, best first; left out: nothing that is loaded from disk. */
  readonly packages?: readonly BackendPackage[];
  /** Which kernels it has, and what they return and hold on the way: what fake mode needs to stand for it, and `kernelsOfBackend` returns. Those of tfjs's own are in tables by name. */
  readonly kernels: KernelTable | BackendKernels | Unknown;
  /** By kernel the outputs that live in an input's buffer, where they have a `DataId` of their own or not. */
  readonly sharing: SharingTable;
  /** By kernel the input whose data it writes to, which stock does not mean to: other tensors on that data change with it. */
  readonly writesTo?: ReadonlyMap<string, string>;
  /** How the data of living tensors is evicted and restored: what plans and budgets need. */
  readonly residency: Residency | Unknown;
  /** What it keeps of what is freed, for the next that is made of the same size: it counts until it is given back. Left out: nothing. */
  readonly freedMemory?: FreedMemory;
  /** Makes one that computes nothing; left out: what its kernels hold is a table, `kernels`. */
  readonly withoutDevice?: WithoutDevice;
  /** Where its library keeps memory that no tensor needs any more: what to do so that it gives it back, in a sentence for people. */
  readonly keepsFreedMemory?: string | undefined;
  /** Returns what the library behind its kernels holds on a CPU beside tensors, at most, while an op runs, in bytes: the engine sees none of it. Left out: nothing is known. */
  libraryBytes?(op: OpShapes, isByOneDnn: boolean): number;
  /** Returns the bytes of the buffer that an entry of its `DataStorage` stands for, as requested. */
  bytesOf(entry: DataEntry): number;
  /** Returns the `DataId` in whose buffer an entry lies, where the entry itself tells. */
  viewOf?(entry: DataEntry): DataId | undefined;
  /**
   * Tells whether its `UnsortedSegmentSum` adds the rows of a segment one after the other, from the first, to zeros, as 32-bit numbers; left out: it does not.
   * `instance` is undefined where the backend is not loaded.
   */
  addsSegmentsInOrder?(instance: object | undefined): boolean;
  /** Tells how many inputs its `AddN` may have to add them as `Add` would, one after the other from the first; 0, or left out: it adds in another order. */
  mostAddedInOrder?(instance: object | undefined): number;
  /** What runs programs on its device; left out: none that runs there adds in another order each time. */
  readonly programs?: DevicePrograms;
  /** Returns on what an instance of it computes. */
  deviceOf(instance: object | undefined): BackendDevice;
  /** Watches whether the device of an instance loses all data, as a page's WebGL context may; left out: it never does. */
  watchDevice?(instance: object): DeviceWatch;
  /** Gives the process what its packages need before they are loaded; Node only. */
  prepare?(): void;
  /** Registers what it lacks of the kernels that only gradients run, or does wrong: what training needs. */
  provideGradientKernels?(): void;
  /** Whether the kernel that is registered under a name is one of those. */
  isProvided?(kernel: string): boolean;
}

/** An op, and the shapes of what it reads and makes, in the order of its kernel's arguments. */
export interface OpShapes {
  readonly kernel: string;
  readonly inputs: readonly (readonly number[])[];
  readonly outputs: readonly (readonly number[])[];
}

/** An npm package that brings a backend. */
export interface BackendPackage {
  readonly name: string;
  /** Of one with a native addon: the words that have remat build it, and what it is called in the cache. Left out: `npm install` is all that it needs. */
  readonly built?: { readonly by: string; readonly as: NativePackage };
  /** Of one that is for a GPU: what to say, and what to do, where it found none and runs on the CPU. */
  readonly withoutGpu?: { readonly reason: string; readonly fix: string };
}

/** The native packages that remat builds. */
export type NativePackage = "tfjs-node" | "tfjs-node-gpu";

/** The name of a table of kernels: that of the backend that has them. */
export type KernelTable = "cpu" | "tensorflow" | "wasm";

/** Why something is not known of a backend. */
export interface Unknown {
  readonly unknown: string;
}

/** The kernels of a backend. */
export interface BackendKernels {
  /** Those of `allKernels` that it lacks. */
  readonly lacks: ReadonlySet<string>;
  /** In what its kernels differ from those of other backends. */
  readonly traits: KernelTraits;
  /** Rules in place of those of `allKernels`, for what is true of no other backend. */
  readonly outputs: InferTable;
  /** Rules for kernels that hold something besides inputs and outputs while they run. */
  readonly scratch: InferTable;
}

/** The device of a backend's instance. */
export interface BackendDevice {
  /** As a trace names it: `cpu`, `cuda:0`. */
  readonly device: string;
  /** Its allocator rounds up to multiples of this. */
  readonly allocationUnitBytes: number;
  /** Whether kernels may still run when they have returned. */
  readonly isAsynchronous: boolean;
}

/** The programs that an instance of a backend runs on its device. */
export interface DevicePrograms {
  /** The name of the instance's method that runs one, which it is given first. */
  readonly runBy: string;
  /** Whether threads of one add to the same number, in whichever order they come: then it may give other bits each time. */
  addsInAnyOrder(program: object): boolean;
}

/** What a device is watched by. */
export interface DeviceWatch {
  /** Whether all data is lost, were it only for a while: what is computed since then is garbage. */
  isLost(): boolean;
  close(): void;
}

/**
 * Returns an instance of the same class as the given one, on a device that does nothing: its kernels make what they would, in the same order, of the same sizes, and no value.
 */
export type WithoutDevice = (instance: object) => object;

/** What an instance of a backend keeps of what is freed, in bytes. */
export interface FreedMemory {
  /** All that it has allocated, with what it keeps. */
  allocatedBytes(instance: object): number;
  /** What it keeps. */
  keptBytes(instance: object): number;
  /** Frees what waits for kernels that are queued. */
  settle(instance: object): void;
  /** Gives back so much of what it keeps that at most `keptBytes` are left. */
  trim(instance: object, keptBytes: number): void;
}

/** Moves the data of entries of a backend's `DataStorage`; no tensor on them, and no count of the engine's, changes. */
export interface Residency {
  /** Lets the data go; the entry, which is that of `dataId`, stays with its counted references. */
  release(entry: DataEntry, instance: object, dataId: DataId): void;
  /** Makes the data of `from` that of `to`; `from` has none then. */
  move(from: DataEntry, to: DataEntry): void;
  /** Returns the values, as far as JavaScript can reach them without a copy: only for now. */
  valuesOf(entry: DataEntry, dataId: DataId, instance: object): ArrayLike<unknown> | null | undefined;
  /** Makes `values` the data again. */
  restore(entry: DataEntry, values: ArrayLike<unknown>, instance: object): void;
}

/** Tells whether something is known of a backend. */
export const isKnown = <T extends object>(of: T | Unknown): of is T => !("unknown" in of);
