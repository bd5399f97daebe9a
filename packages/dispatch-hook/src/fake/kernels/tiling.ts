import type { FakeBackend } from "../fake-backend.js";
import type { Infer, InferTable, X } from "./infer.js";
import { mismatch, refuseComplex } from "./shapes.js";

const tile: Infer<X, { reps: number[] }> = ({ x }, { reps }, backend) => {
  refuseComplex(backend, x);
  const shape = x.shape.slice();
  for (let i = 0; i < shape.length; i++) shape[i] *= reps[i];
  return backend.make(shape, x.dtype);
};

function padded(shape: number[], paddings: [number, number][], backend: FakeBackend): number[] {
  if (paddings.length !== shape.length) mismatch(backend, `${paddings.length} paddings do not fit shape [${shape}]`);
  const out = new Array<number>(shape.length);
  for (let i = 0; i < shape.length; i++) out[i] = paddings[i][0] + shape[i] + paddings[i][1];
  return out;
}

const pad: Infer<X, { paddings: [number, number][] }> = ({ x }, { paddings }, backend) => {
  refuseComplex(backend, x);
  return backend.make(padded(x.shape, paddings, backend), x.dtype);
};

const product = (factors: number[]): number => factors.reduce((a, b) => a * b, 1);

const batchToSpace: Infer<X, { blockShape: number[]; crops: number[][] }> = ({ x }, { blockShape, crops }, backend) => {
  refuseComplex(backend, x);
  const blocks = product(blockShape);
  const shape = x.shape.slice();
  if (shape[0] % blocks !== 0) mismatch(backend, `a batch of ${shape[0]} is no multiple of ${blocks} blocks`);
  shape[0] /= blocks;
  for (let i = 0; i < blockShape.length; i++) {
    shape[i + 1] = shape[i + 1] * blockShape[i] - crops[i][0] - crops[i][1];
    if (shape[i + 1] < 0) mismatch(backend, `crops [${crops[i]}] are larger than dimension ${i + 1}`);
  }
  return backend.make(shape, x.dtype);
};

const spaceToBatch: Infer<X, { blockShape: number[]; paddings: number[][] }> = (
  { x },
  { blockShape, paddings },
  backend,
) => {
  refuseComplex(backend, x);
  const shape = x.shape.slice();
  shape[0] *= product(blockShape);
  for (let i = 0; i < blockShape.length; i++) {
    const length = shape[i + 1] + paddings[i][0] + paddings[i][1];
    if (length % blockShape[i] !== 0)
      mismatch(backend, `padded dimension ${i + 1} has ${length} elements, no multiple of ${blockShape[i]}`);
    shape[i + 1] = length / blockShape[i];
  }
  return backend.make(shape, x.dtype);
};

const depthToSpace: Infer<X, { blockSize: number; dataFormat?: "NHWC" | "NCHW" }> = (
  { x },
  { blockSize, dataFormat },
  backend,
) => {
  if (dataFormat === "NCHW" && backend.standsFor !== "tensorflow")
    mismatch(backend, "only data format NHWC is supported");
  const [n, a, b, c] = x.shape;
  const block = blockSize * blockSize;
  const depth = dataFormat === "NCHW" ? a : c;
  if (depth % block !== 0) mismatch(backend, `a depth of ${depth} is no multiple of ${block}`);
  const shape =
    dataFormat === "NCHW" ? [n, a / block, b * blockSize, c * blockSize] : [n, a * blockSize, b * blockSize, c / block];
  return backend.make(shape, x.dtype);
};

const diagonal: Infer<X> = ({ x }, _, backend) => backend.make([...x.shape, ...x.shape], x.dtype);

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
