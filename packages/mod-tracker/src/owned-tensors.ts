import type { Tensor } from "@tensorflow/tfjs-core";

/** What a module owns. @internal */
export interface Weights {
  readonly parameters: readonly Tensor[];
  readonly buffers: readonly Tensor[];
}

/** Tensors of plain functions, by the FQN of the scope that they belong to and a name in it. @internal */
export class OwnedTensors {
  private readonly parameters = new Map<string, Tensor>();
  private readonly buffers = new Map<string, Tensor>();

  add(parameters: Readonly<Record<string, Tensor>>, buffers: Readonly<Record<string, Tensor>>): void {
    for (const [name, tensor] of Object.entries(parameters)) this.parameters.set(name, tensor);
    for (const [name, tensor] of Object.entries(buffers)) this.buffers.set(name, tensor);
  }

  /** Those of the scope `fqn` and of the scopes in it. */
  of(fqn: string): Weights {
    return { parameters: inside(fqn, this.parameters), buffers: inside(fqn, this.buffers) };
  }
}

function inside(fqn: string, tensors: ReadonlyMap<string, Tensor>): Tensor[] {
  const found: Tensor[] = [];
  for (const [name, tensor] of tensors) if (name.startsWith(`${fqn}.`)) found.push(tensor);
  return found;
}
