import { RematError, setErrorKind } from "@remat/trace";
import { runningModule } from "../module-namer.js";

/**
 * Values were wanted that fake mode never computed: by `dataSync`, `data` or anything built on them, or by a kernel whose output shapes
 * depend on values (`Unique`, `NonMaxSuppressionV3`, …). `kernel` is the kernel that wanted them or that made the tensor, `module` the
 * module that was running, if a module tracker names modules. `code` is `DATA_DEPENDENT`.
 *
 * @example
 * fakeMode(() => tf.relu(x).dataSync()); // DataDependentError: … made by kernel Relu …
 */
export class DataDependentError extends RematError {
  override readonly name: string = "DataDependentError";
  readonly kernel: string;
  readonly module: string | undefined;

  static {
    setErrorKind(this, "DataDependentError");
  }

  constructor(kernel: string, what: string, nextStep: string) {
    const module = runningModule();
    super(
      "DATA_DEPENDENT",
      `${what}${module === undefined ? "" : ` (in module '${module}')`}: fake mode computes no values. ${nextStep}`,
    );
    this.kernel = kernel;
    this.module = module;
  }
}
