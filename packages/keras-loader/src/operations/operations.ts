import { RematError } from "@remat/trace";
import { ownField } from "../json.js";
import { activationFunctions } from "./activation-functions.js";
import { elementwise } from "./elementwise.js";
import { images } from "./image.js";
import { ofSizes } from "./known-sizes.js";
import { linearAlgebra } from "./linear-algebra.js";
import { norms } from "./norms.js";
import type { Operation } from "./operation.js";
import { ofPlaces } from "./places.js";
import { reductions } from "./reductions.js";
import { reshaping } from "./reshaping.js";
import { slicing } from "./slicing.js";

/** All operations by their name in this package. */
export const operations: Readonly<Record<string, Operation>> = {
  ...elementwise,
  ...activationFunctions,
  ...reductions,
  ...reshaping,
  ...slicing,
  ...linearAlgebra,
  ...images,
  ...norms,
  ...ofPlaces,
  ...ofSizes,
};

/**
 * Returns the operation with this name in this package.
 *
 * @throws RematError `KERAS_FUNCTION_UNKNOWN`
 */
export function operationNamed(name: string): Operation {
  const operation = ownField(operations, name);
  if (operation !== undefined) return operation;
  throw new RematError(
    "KERAS_FUNCTION_UNKNOWN",
    `this version of @remat/keras-loader has no operation '${name}': a newer version probably saved the model. Update @remat/keras-loader.`,
  );
}
