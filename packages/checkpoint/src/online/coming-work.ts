import { forEachInput, type KernelInputs } from "@remat/dispatch-hook";
import { formatBytes } from "@remat/trace/text";

/** Total memory in bytes that the steps after an update need, with its slots. @internal */
export interface LaterSteps {
  readonly updateBytes: number;
  readonly passBytes: number;
}

/**
 * Remembers the next op, data or update, and describes it if it does not fit. The description is built only on failure,
 * because this runs for every op.
 *
 * @internal
 */
export class ComingWork {
  private kernel = "";
  private inputs: KernelInputs | undefined;
  private dataBytes: number | undefined;
  private optimizer: object | undefined;
  /** Returns the memory that the steps after the next update need. */
  later: () => LaterSteps = () => ({ updateBytes: 0, passBytes: 0 });

  expectOp(kernel: string, inputs: KernelInputs): void {
    this.kernel = kernel;
    this.inputs = inputs;
  }

  expectData(bytes: number): void {
    this.inputs = this.optimizer = undefined;
    this.dataBytes = bytes;
  }

  expectUpdate(optimizer: object, later: () => LaterSteps): void {
    this.inputs = undefined;
    this.optimizer = optimizer;
    this.later = later;
  }

  get isOfUpdate(): boolean {
    return this.inputs === undefined && this.optimizer !== undefined;
  }

  describe(): string {
    const { kernel, inputs, dataBytes, optimizer } = this;
    if (inputs !== undefined) return describeOp(kernel, inputs);
    if (optimizer !== undefined) return `the update of the weights by ${nameOf(optimizer)}`;
    return dataBytes !== undefined ? `data of ${formatBytes(dataBytes)} that JavaScript makes` : "the first op";
  }
}

/** Describes an op for an error message. @internal */
export function describeOp(kernel: string, inputs: KernelInputs): string {
  const shapes: string[] = [];
  forEachInput(inputs, ({ shape }) => shapes.push(`[${shape.join(",")}]`));
  return `${kernel} of ${shapes.join(", ") || "nothing"}`;
}

const nameOf = (optimizer: object): string =>
  (optimizer.constructor as { className?: string }).className ?? optimizer.constructor.name;
