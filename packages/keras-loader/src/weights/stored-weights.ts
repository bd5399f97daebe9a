import type { DataType, Tensor } from "@tensorflow/tfjs-core";

/** One array of a file with weights, whose values are read where they are asked for. */
export interface StoredArray {
  /** Where it stands in the file. */
  readonly name: string;
  readonly shape: readonly number[];
  /** @throws RematError `KERAS_WEIGHTS_FILE` */
  read(dtype: DataType): Tensor;
}

/** What a file holds of one object of Keras': the arrays of its own, and those of the objects in it by the names of their fields. */
export interface StoredObject {
  readonly arrays: readonly StoredArray[];
  readonly objects: ReadonlyMap<string, StoredObject>;
}

/** The weights of a file, as far as it says whose they are. */
export type KerasWeights = {
  /** The file, for messages. */
  readonly from: string;
} & (
  | {
      /** By the objects that hold them, as Keras 3 writes `.keras` and `.weights.h5`. */
      readonly layout: "objects";
      readonly root: StoredObject;
    }
  | {
      /** By the model's layers, in their order, as legacy HDF5 files have it. */
      readonly layout: "layers";
      readonly layers: ReadonlyMap<string, readonly StoredArray[]>;
    }
  | {
      /** By names that begin with a layer's, as tfjs-layers has it. */
      readonly layout: "names";
      readonly arrays: readonly StoredArray[];
    }
);
