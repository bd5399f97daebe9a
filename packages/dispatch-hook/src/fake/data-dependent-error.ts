import { RematError } from "@remat/trace";

/** Names the module that is running, for messages; `undefined` where none is. */
export type ModuleNamer = () => string | undefined;

const namers: ModuleNamer[] = [];

/**
 * Lets a module tracker say which module is running, so that a {@link DataDependentError} can name it. The last one that was given is asked.
 * Returns the function that takes it away again.
 *
 * @example
 * const stop = nameModulesBy(() => tracker.innermost?.fqn);
 */
export function nameModulesBy(namer: ModuleNamer): () => void {
  const own: ModuleNamer = () => namer();
  namers.push(own);
  return () => {
    const at = namers.indexOf(own);
    if (at >= 0) namers.splice(at, 1);
  };
}

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

  constructor(kernel: string, what: string, nextStep: string) {
    const module = namers.at(-1)?.();
    super(
      "DATA_DEPENDENT",
      `${what}${module === undefined ? "" : ` (in module '${module}')`}: fake mode computes no values. ${nextStep}`,
    );
    this.kernel = kernel;
    this.module = module;
  }
}
