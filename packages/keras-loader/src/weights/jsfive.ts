// @ts-expect-error: jsfive has no types
import * as jsfive from "jsfive";

/** What is used of jsfive, which throws strings as well as errors. */
interface Jsfive {
  /** Opens a file; jsfive counts from the start of the buffer. */
  readonly File: new (
    bytes: ArrayBuffer,
    name?: string,
  ) => Group;
  readonly Dataset: new () => Dataset;
}

/** A group of an HDF5 file. */
export interface Group {
  readonly keys: string[];
  readonly attrs: Record<string, unknown>;
  get(path: string): Group | Dataset;
}

/** An array of an HDF5 file. */
export interface Dataset {
  readonly shape: number[];
  readonly dtype: unknown;
  /** Read each time that it is asked for. */
  readonly value: ArrayLike<number>;
}

const { File, Dataset: DatasetClass } = jsfive as unknown as Jsfive;

/** Opens an HDF5 file. */
export function openFile(bytes: ArrayBuffer, name: string): Group {
  return new File(bytes, name);
}

/** Tells an array from a group. */
export function isDataset(value: Group | Dataset): value is Dataset {
  return value instanceof DatasetClass;
}
