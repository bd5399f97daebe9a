import { RematError, setErrorKind } from "@remat/trace";
import { runningModule } from "../module-namer.js";

/**
 * Thrown if values are needed that fake mode never computed: by `dataSync`, `data` or code built on them, or by a
 * kernel whose output shapes depend on values (`Unique`, `NonMaxSuppressionV3`, …). Its `code` is `DATA_DEPENDENT`.
 *
 * @example
 * fakeMode(() => tf.relu(x).dataSync()); // DataDependentError: … made by kernel Relu …
 */
export class DataDependentError extends RematError {
  /** Name of the class. */
  override readonly name: string = "DataDependentError";
  /** The kernel that needed the values, or that made the tensor. */
  readonly kernel: string;
  /** The module that was running, if a module tracker names modules. */
  readonly module: string | undefined;

  static {
    setErrorKind(this, "DataDependentError");
  }

  constructor(kernel: string, what: string, nextStep: string) {
    const module = runningModule();
    super(
      "DATA_DEPENDENT",
      `${what}${module === undefined ? "" : ` (in module '${module}')`}: fake mode does not compute values. ${nextStep}`,
    );
    this.kernel = kernel;
    this.module = module;
  }
}
