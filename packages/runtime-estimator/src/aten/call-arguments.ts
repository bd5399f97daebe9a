import type { OpCall, TensorType } from "../op-call.js";

/**
 * The arguments of a dispatched ATen op. In the attributes `args` and `kwargs` a tensor is `"%i"`, the op's i-th input; an argument
 * is looked up by position or, where it was passed by keyword, by its name in the op's schema.
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

  /** The argument's value, `undefined` where it was left to its default. */
  value(position: number, name: string): unknown {
    if (this.args !== undefined && position < this.args.length) return this.args[position];
    return this.kwargs[name];
  }

  /** The tensor passed as an argument; `undefined` for None. Without recorded arguments inputs stand in argument order. */
  tensor(position: number, name: string): TensorType | undefined {
    if (this.args === undefined && !(name in this.kwargs)) return this.call.inputs[position];
    const value = this.value(position, name);
    return typeof value === "string" && value.startsWith("%") ? this.call.inputs[Number(value.slice(1))] : undefined;
  }

  /** Shape of a tensor argument that the schema requires; empty if it is missing, so that no FLOPs are counted. */
  shape(position: number, name: string): readonly number[] {
    return this.tensor(position, name)?.shape ?? [];
  }
}
