import type { DispatchObserver, OpDone } from "@remat/dispatch-hook";
import { rowsOf } from "@remat/trace";
import { type DataId, type Tensor, Variable } from "@tensorflow/tfjs-core";
import { gradientAt, type UpdateScript } from "./update-script.js";

/**
 * Marks tensors that an update never frees: a variable took them over, JavaScript read them, or they exist when the
 * update ends.
 */
const toTheEnd = Number.POSITIVE_INFINITY;

/** Records when each tensor of an update is read for the last time. @internal */
export class UpdateRecorder implements DispatchObserver {
  private readonly kernels: string[] = [];
  /** Output of each op in the update. */
  private readonly made: (Tensor | undefined)[] = [];
  /** The last op that reads each tensor. */
  private readonly lastUse = new Map<Tensor, number>();
  private readonly byDataId = new Map<DataId, Tensor[]>();

  private readonly ofWeights: readonly (Tensor | undefined)[];

  constructor(ofWeights: readonly (Tensor | undefined)[]) {
    this.ofWeights = ofWeights;

    for (const gradient of ofWeights) if (gradient !== undefined) this.know(gradient, -1);
  }

  opOver({ kernel, inputTensors, outputs }: OpDone): void {
    const op = this.kernels.push(kernel) - 1;
    for (const input of inputTensors) if (this.lastUse.get(input) !== toTheEnd) this.lastUse.set(input, op);
    this.made.push(outputs.length === 1 ? outputs[0] : undefined);
    for (const output of outputs) if (!this.lastUse.has(output)) this.know(output, op);
  }

  variableAssigned({ dataId }: Variable): void {
    this.holdAllOn(dataId);
  }

  tensorRead(dataId: DataId): void {
    this.holdAllOn(dataId);
  }

  /** Call when the update is over. Outputs that still exist are in use elsewhere. */
  script(): UpdateScript {
    const freed: number[][] = this.kernels.map(() => []);
    const note = (tensor: Tensor, name: number) => {
      const last = this.lastUse.get(tensor) as number;
      if (last >= 0 && last !== toTheEnd) freed[last].push(name);
    };
    this.made.forEach((tensor, op) => {
      if (tensor?.isDisposed === true && this.made.indexOf(tensor) === op) note(tensor, op);
    });
    this.ofWeights.forEach((tensor, place) => {
      if (tensor !== undefined && !(tensor instanceof Variable) && this.ofWeights.indexOf(tensor) === place)
        note(tensor, gradientAt(place));
    });
    return { kernels: this.kernels, freedAfter: rowsOf(freed) };
  }

  private know(tensor: Tensor, op: number): void {
    this.lastUse.set(tensor, op);
    const others = this.byDataId.get(tensor.dataId);
    if (others === undefined) this.byDataId.set(tensor.dataId, [tensor]);
    else others.push(tensor);
  }

  private holdAllOn(dataId: DataId): void {
    for (const tensor of this.byDataId.get(dataId) ?? []) this.lastUse.set(tensor, toTheEnd);
  }
}
