import { engine, type KernelBackend, type Tensor, type Variable } from "@tensorflow/tfjs-core";

/** What fake mode needs of the engine beyond its types (tfjs-core 4.22.0, `engine.ts`). @internal */
export interface EngineInternals {
  backendName: string | null | undefined;
  backendInstance: KernelBackend | null | undefined;
  pendingBackendInit: Promise<boolean> | null | undefined;
  readonly registry: Record<string, KernelBackend>;
  readonly registryFactory: Record<string, unknown>;
  readonly registeredVariables: Record<string, Variable>;
  setBackend(name: string): Promise<boolean>;
  track(tensor: Tensor): Tensor;
  trackTensor(tensor: Tensor, backend: KernelBackend): void;
  disposeTensor(tensor: Tensor): void;
  disposeVariable(variable: Variable): void;
  removeDataId(dataId: object, backend: KernelBackend): void;
  readonly state: { readonly tensorInfo: WeakMap<object, { readonly backend: KernelBackend }> };
}

/** @internal */
export const engineInternals = (): EngineInternals => engine() as unknown as EngineInternals;
