import { heldByModule, heldPeak } from "@remat/memory";
import { layerCosts, msOfTimes, priceTrace, stepTimes } from "@remat/runtime-estimator";
import { type DeviceSpec, elementsOf, type OpIndex, Phase, RuntimeSource, type Trace } from "@remat/trace";
import { summarizeSac } from "../../src/index.js";

/** Rounding of sums and quotients, relative. */
const rounding = 1e-9;

/** Ops that multiply and add: matrix products, convolutions, attention and recurrent layers, by PyTorch and TensorFlow.js. */
const multiplies =
  /^aten\.(mm|bmm|addmm|baddbmm|addbmm|mv|addmv|dot|vdot|_?convolution(_backward)?|\w*scaled_dot_product_\w+|\w+_rnn\w*)\.|^(_FusedMatMul|BatchMatMul|(Fused)?(Conv[23]D|DepthwiseConv2d)\w*)$/;

/**
 * Returns sentences about figures of a trace that cannot be true on `device`, whatever was recorded: ops that are faster
 * than the device, parts that do not add up, and tables of zeros next to figures that are not zero. Empty if there are
 * none.
 */
export function findUntruths(trace: Trace, device: DeviceSpec): readonly string[] {
  const priced = priceTrace(trace, device);
  return [
    ...findFastOps(priced, device),
    ...findFalseFlops(priced),
    ...findFalseTimes(priced),
    ...findFalseMemory(priced),
  ];
}

/** Predicted FLOP/s are at most the peak of the device, and bytes per second at most its bandwidth. */
export function findFastOps(trace: Trace, device: DeviceSpec): readonly string[] {
  const { ops } = trace;
  const found: string[] = [];
  for (let op = 0; op < ops.count; op++) {
    if (ops.runtimeSource[op] !== RuntimeSource.roofline) continue;
    const seconds = ops.runtimeMs[op] / 1000;
    const name = `op ${op} (${trace.opName(op)})`;
    if (!(seconds >= 0 && seconds < Number.POSITIVE_INFINITY)) found.push(`${name} takes ${ops.runtimeMs[op]} ms`);
    const peak = (device.tflops[dtypeOf(trace, op)] ?? device.tflops["float32"]) * 1e12;
    if (ops.flops[op] > peak * seconds * (1 + rounding))
      found.push(
        `${name} runs at ${(ops.flops[op] / seconds / 1e12).toPrecision(3)} TFLOP/s, above the peak of ${device.name}, ${peak / 1e12}`,
      );
    const bytes = ops.bytesRead[op] + ops.bytesWritten[op];
    if (bytes > device.memoryGBps * 1e9 * seconds * (1 + rounding))
      found.push(
        `${name} moves ${(bytes / seconds / 1e9).toPrecision(3)} GB/s, above the bandwidth of ${device.name}, ${device.memoryGBps}`,
      );
  }
  return found;
}

/** Ops that multiply have FLOPs, and the FLOPs of layers add up to those of the model. */
function findFalseFlops(trace: Trace): readonly string[] {
  const { ops } = trace;
  const found: string[] = [];
  for (let op = 0; op < ops.count; op++) {
    const isEmpty = [...trace.opInputs(op), ...trace.opOutputs(op)].some(
      (tensor) => elementsOf(trace.tensorShape(tensor)) === 0,
    );
    if (multiplies.test(trace.opName(op)) && !isEmpty && !(ops.flops[op] > 0))
      found.push(`op ${op} (${trace.opName(op)}) has ${ops.flops[op]} FLOPs`);
  }
  const { layers, outside, total } = layerCosts(trace);
  for (const figure of ["flops", "multiplyAdds", "forwardMs"] as const) {
    const sum = layers.reduce((all, layer) => all + layer[figure], outside[figure]);
    if (!isNear(sum, total[figure])) found.push(`${figure} of layers are ${sum}, those of the model ${total[figure]}`);
  }
  if (total.flops !== 2 * total.multiplyAdds)
    found.push(`${total.multiplyAdds} multiply-adds are given as ${total.flops} FLOPs`);
  return found;
}

/** The passes add up to the step, and modules take time if their ops do. */
function findFalseTimes(trace: Trace): readonly string[] {
  const { ops } = trace;
  let sum = 0;
  for (let op = 0; op < ops.count; op++) if (ops.phase[op] !== Phase.outside) sum += ops.runtimeMs[op];
  const times = stepTimes(trace);
  const found = isNear(sum, msOfTimes(times)) ? [] : [`the ops take ${sum} ms, the passes ${msOfTimes(times)}`];
  const { modules } = summarizeSac(trace, { depth: 99 });
  for (const [pass, phase] of [
    ["forwardMs", Phase.forward],
    ["backwardMs", Phase.backward],
  ] as const) {
    const ofOps = msInModules(trace, modules, phase);
    if (ofOps > 0 && modules.every((module) => module[pass] === 0))
      found.push(`every module has 0 ${pass}, and their ops take ${ofOps} ms`);
  }
  return found;
}

/** Categories add up to the peak, and modules use memory if they own or allocate any. */
function findFalseMemory(trace: Trace): readonly string[] {
  const peak = heldPeak(trace);
  const sum = Object.values(peak.bytesByCategory).reduce((all, bytes) => all + bytes, 0);
  const found = isNear(sum, peak.peakBytes) ? [] : [`categories add up to ${sum} bytes, the peak is ${peak.peakBytes}`];
  const byModule = heldByModule(trace, peak);
  const isZero = [...byModule.values()].every((bytes) => bytes === 0);
  const { parameter = 0 } = peak.bytesByCategory;
  if (isZero && parameter > 0 && trace.weights.count > 0)
    found.push(`every module uses 0 bytes at the peak, and parameters use ${parameter}`);
  for (const [module, bytes] of byModule)
    if (bytes > peak.peakBytes) found.push(`${module} uses ${bytes} bytes of a peak of ${peak.peakBytes}`);
  const { total } = layerCosts(trace);
  if (parameter > 0 && trace.weights.count > 0 && total.parameters + total.buffers === 0)
    found.push(`the model has no parameters, and parameters use ${parameter} bytes`);
  return found;
}

function msInModules(trace: Trace, modules: readonly { readonly fqn: string }[], phase: number): number {
  const shown = new Set(modules.map(({ fqn }) => fqn));
  let sum = 0;
  for (let op = 0; op < trace.ops.count; op++)
    if (trace.ops.phase[op] === phase && shown.has(trace.opModule(op)?.fqn ?? "")) sum += trace.ops.runtimeMs[op];
  return sum;
}

/** The dtype that bounds an op: of its first floating-point result, or else of its first floating-point input. */
function dtypeOf(trace: Trace, op: OpIndex): string {
  const tensors = [...trace.opOutputs(op), ...trace.opInputs(op)];
  return tensors.map((tensor) => trace.tensorDtype(tensor)).find((dtype) => /float/.test(dtype)) ?? "float32";
}

function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) <= rounding * Math.max(Math.abs(a), Math.abs(b));
}
