import { parseJsonText, RematError } from "@remat/trace";
import { attributeOf, readingHdf5 } from "./hdf5-file.js";

/**
 * Reads the model and its training configuration from a legacy HDF5 file (`model.save("model.h5")`), without weights.
 * Pass the result to `loadKerasModel`.
 *
 * @throws RematError `KERAS_NO_TOPOLOGY` if the file has only weights, `KERAS_WEIGHTS_FILE` if it cannot be read
 */
export function readHdf5Topology(bytes: Uint8Array): object {
  return readingHdf5(bytes, "the HDF5 file", (root) => {
    const topology = attributeOf(root, "model_config");
    if (topology === undefined)
      throw new RematError(
        "KERAS_NO_TOPOLOGY",
        'This HDF5 file contains weights, but no model. Save the model with Keras\' model.save("model.keras"), or load its model.to_json() with these weights.',
      );
    const compilation = attributeOf(root, "training_config");
    return {
      model_config: parseJsonText(String(topology)),
      ...(compilation !== undefined && { training_config: parseJsonText(String(compilation)) }),
    };
  });
}
