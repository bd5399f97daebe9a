import { RematError } from "@remat/trace";
import * as core from "@tensorflow/tfjs-core";
import { pictureKernels, randomKernels } from "../kernels/kernel-properties.js";
import { backends, findBackend } from "./find-backend.js";
import { isOwnKernel, ownKernelNames, rememberKernels } from "./first-seen-kernels.js";

const declared = new Map<string, number>();

/** TensorFlow.js's own kernels that compute the same from the same inputs. */
const deterministic: ReadonlySet<string> = new Set(
  [...ownKernelNames].filter((kernel) => !randomKernels.has(kernel) && !pictureKernels.has(kernel)),
);

for (const { name } of backends) rememberKernels(name);

/**
 * Returns whether a kernel gives bitwise identical results for the same inputs, so that it can be replayed. This holds
 * for deterministic kernels of TensorFlow.js, either the backend's original or one of `provideGradientKernels`, and for
 * kernels passed to {@link declarePure}. Other kernels are unknown.
 *
 * @example
 * isRepeatable("Relu", "cpu"); // true, unless another was registered in its place
 */
export function isRepeatable(kernel: string, backend: string): boolean {
  if (declared.has(kernel)) return true;
  if (!deterministic.has(kernel)) return false;
  return isFake(backend) || isOwnKernel(kernel, backend) || findBackend(backend).isProvided?.(kernel) === true;
}

/** Fake kernels are registered again each time, under all names. */
const isFake = (backend: string): boolean => {
  // Not `findBackend`, which would start a backend that is only registered.
  const { registry } = core.engine() as unknown as Registry;
  return registry[backend]?.standsFor !== undefined;
};

interface Registry {
  readonly registry: Readonly<Record<string, { readonly standsFor?: object } | undefined>>;
}

/**
 * Declares that your own kernel gives bitwise identical results for the same inputs and has no side effects. Budgets,
 * plans and checkpoints may then replay it. Otherwise its results stay in memory. Returns a function that revokes the
 * declaration.
 *
 * @throws RematError `KERNEL_UNKNOWN` if no backend has a kernel of that name
 * @example
 * tf.registerKernel({ kernelName: "Swish", backendName: "cpu", kernelFunc });
 * declarePure("Swish");
 */
export function declarePure(kernel: string): () => void {
  if (
    ![...backends.map(({ name }) => name), core.getBackend()].some(
      (backend) => core.getKernel(kernel, backend) !== undefined,
    )
  )
    throw new RematError(
      "KERNEL_UNKNOWN",
      `declarePure(): no backend has a kernel ${JSON.stringify(kernel)}. Register the kernel first, or correct the name.`,
    );
  declared.set(kernel, (declared.get(kernel) ?? 0) + 1);
  let isDeclared = true;
  return () => {
    if (!isDeclared) return;
    isDeclared = false;
    const times = (declared.get(kernel) as number) - 1;
    if (times === 0) declared.delete(kernel);
    else declared.set(kernel, times);
  };
}
