import type { OpCall, TensorType } from "../op-call.js";

/** Returns the FLOPs of one call of an ATen op. */
export type FlopFormula = (a: CallArguments) => number;

/**
 * The arguments of a dispatched ATen op. In the attributes `args` and `kwargs` a tensor is `"%i"`, the op's i-th input.
 * An argument is looked up by position or, if it was passed by keyword, by its name in the op's schema.
 */
export class CallArguments {
  readonly call: OpCall;
  private readonly args: readonly unknown[] | undefined;
  private readonly kwargs: Readonly<Record<string, unknown>>;

  constructor(call: OpCall) {
    this.call = call;
    const { args, kwargs } = (call.attributes ?? {}) as { args?: unknown[]; kwargs?: Record<string, unknown> };
    this.args = args;
    this.kwargs = kwargs ?? {};
  }

  /** Returns an argument's value, or undefined if it has its default. */
  value(position: number, name: string): unknown {
    if (this.args !== undefined && position < this.args.length) return this.args[position];
    return this.kwargs[name];
  }

  /**
   * Returns the tensor passed as an argument, or undefined for None. If arguments were not recorded, the inputs are in
   * argument order.
   */
  tensor(position: number, name: string): TensorType | undefined {
    if (this.args === undefined && !(name in this.kwargs)) return this.call.inputs[position];
    return this.referred(this.value(position, name));
  }

  /** Returns the tensors of a list argument. */
  tensors(position: number, name: string): readonly TensorType[] {
    const list = this.value(position, name);
    return Array.isArray(list) ? list.flatMap((value) => this.referred(value) ?? []) : [];
  }

  /** Returns the shape of a required tensor argument. Empty if it is missing, so that no FLOPs are counted. */
  shape(position: number, name: string): readonly number[] {
    return this.tensor(position, name)?.shape ?? [];
  }

  private referred(value: unknown): TensorType | undefined {
    return typeof value === "string" && value.startsWith("%") ? this.call.inputs[Number(value.slice(1))] : undefined;
  }
}
