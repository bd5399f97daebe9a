import type { Infer, InferTable, X } from "./infer.js";
import type { KernelCall } from "./kernel-call.js";
import { mismatch, refuseComplex } from "./shapes.js";

const tile: Infer<X, { reps: number[] }> = ({ x }, { reps }, call) => {
  refuseComplex(call, x);
  const shape = x.shape.slice();
  for (let i = 0; i < shape.length; i++) shape[i] *= reps[i];
  return call.make(shape, x.dtype);
};

function padded(shape: number[], paddings: [number, number][], call: KernelCall): number[] {
  if (paddings.length !== shape.length) mismatch(call, `${paddings.length} paddings do not fit shape [${shape}]`);
  const out = new Array<number>(shape.length);
  for (let i = 0; i < shape.length; i++) out[i] = paddings[i][0] + shape[i] + paddings[i][1];
  return out;
}

const pad: Infer<X, { paddings: [number, number][] }> = ({ x }, { paddings }, call) => {
  refuseComplex(call, x);
  return call.make(padded(x.shape, paddings, call), x.dtype);
};

const product = (factors: number[]): number => factors.reduce((a, b) => a * b, 1);

const batchToSpace: Infer<X, { blockShape: number[]; crops: number[][] }> = ({ x }, { blockShape, crops }, call) => {
  refuseComplex(call, x);
  const blocks = product(blockShape);
  const shape = x.shape.slice();
  if (shape[0] % blocks !== 0) mismatch(call, `a batch of ${shape[0]} is not a multiple of ${blocks} blocks`);
  shape[0] /= blocks;
  for (let i = 0; i < blockShape.length; i++) {
    shape[i + 1] = shape[i + 1] * blockShape[i] - crops[i][0] - crops[i][1];
    if (shape[i + 1] < 0) mismatch(call, `crops [${crops[i]}] are larger than dimension ${i + 1}`);
  }
  return call.make(shape, x.dtype);
};

const spaceToBatch: Infer<X, { blockShape: number[]; paddings: number[][] }> = (
  { x },
  { blockShape, paddings },
  call,
) => {
  refuseComplex(call, x);
  const shape = x.shape.slice();
  shape[0] *= product(blockShape);
  for (let i = 0; i < blockShape.length; i++) {
    const length = shape[i + 1] + paddings[i][0] + paddings[i][1];
    if (length % blockShape[i] !== 0)
      mismatch(call, `padded dimension ${i + 1} has ${length} elements, not a multiple of ${blockShape[i]}`);
    shape[i + 1] = length / blockShape[i];
  }
  return call.make(shape, x.dtype);
};

const depthToSpace: Infer<X, { blockSize: number; dataFormat?: "NHWC" | "NCHW" }> = (
  { x },
  { blockSize, dataFormat },
  call,
) => {
  if (dataFormat === "NCHW" && !call.traits.takesChannelsFirst) mismatch(call, "only data format NHWC is supported");
  const [n, a, b, c] = x.shape;
  const block = blockSize * blockSize;
  const depth = dataFormat === "NCHW" ? a : c;
  if (depth % block !== 0) mismatch(call, `a depth of ${depth} is not a multiple of ${block}`);
  const shape =
    dataFormat === "NCHW" ? [n, a / block, b * blockSize, c * blockSize] : [n, a * blockSize, b * blockSize, c / block];
  return call.make(shape, x.dtype);
};

const diagonal: Infer<X> = ({ x }, _, call) => call.make([...x.shape, ...x.shape], x.dtype);

/** Kernels that repeat, pad or regroup. */
export const tilingKernels: InferTable = {
  BatchToSpaceND: batchToSpace,
  DepthToSpace: depthToSpace,
  Diag: diagonal,
  MirrorPad: pad,
  PadV2: pad,
  SpaceToBatchND: spaceToBatch,
  Tile: tile,
};
