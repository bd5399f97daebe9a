import type { DataType, Tensor } from "@tensorflow/tfjs-core";

/** One array of a weight file. Its values are read on demand. */
export interface StoredArray {
  /** Name or path in the file. */
  readonly name: string;
  /** Shape of the array. */
  readonly shape: readonly number[];
  /**
   * Reads the values as a new tensor.
   *
   * @throws RematError `KERAS_WEIGHTS_FILE`
   */
  read(dtype: DataType): Tensor;
}

/** Weights of one Keras object: its own arrays, and nested objects by field name. */
export interface StoredObject {
  /** Arrays of the object itself. */
  readonly arrays: readonly StoredArray[];
  /** Nested objects by field name. */
  readonly objects: ReadonlyMap<string, StoredObject>;
}

/** The weights of a file, in one of three layouts. */
export type KerasWeights = {
  /** Description of the file, for messages. */
  readonly from: string;
} & (
  | {
      /** Weights by Keras object, as Keras 3 writes `.keras` and `.weights.h5`. */
      readonly layout: "objects";
      readonly root: StoredObject;
    }
  | {
      /** Weights by layer, in the order of the model, as in legacy HDF5 files. */
      readonly layout: "layers";
      readonly layers: ReadonlyMap<string, readonly StoredArray[]>;
    }
  | {
      /** Weights by name, as in tfjs-layers. Each name begins with the name of its layer. */
      readonly layout: "names";
      readonly arrays: readonly StoredArray[];
    }
);
