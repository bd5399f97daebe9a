import { type DataType, upcastType } from "@tensorflow/tfjs-core";
import { type FusedAttributes, type FusedInputs, fuse } from "./activation.js";
import { einsum } from "./einsum.js";
import type { AB, Infer, InferTable } from "./infer.js";
import type { KernelCall } from "./kernel-call.js";
import { broadcast, mismatch, refuseComplex } from "./shapes.js";

interface Transposes {
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
}

/** The shape of `a · b` over broadcast batches. */
function productShape({ a, b }: AB, { transposeA, transposeB }: Transposes, call: KernelCall): number[] {
  refuseComplex(call, a);
  refuseComplex(call, b);
  const m = a.shape;
  const n = b.shape;
  const rankA = m.length;
  const rankB = n.length;
  if (rankA < 2 || rankB < 2) mismatch(call, `operands of shapes [${m}] and [${n}] are not matrices`);
  const inner = transposeA ? m[rankA - 2] : m[rankA - 1];
  if (inner !== (transposeB ? n[rankB - 1] : n[rankB - 2])) {
    mismatch(call, `inner dimensions of [${m}]${transposeA ? "ᵀ" : ""} and [${n}]${transposeB ? "ᵀ" : ""} differ`);
  }
  const rows = transposeA ? m[rankA - 1] : m[rankA - 2];
  const columns = transposeB ? n[rankB - 2] : n[rankB - 1];
  if (rankA === 2 && rankB === 2) return [rows, columns];
  if (rankA === 3 && rankB === 3 && m[0] === n[0]) return [m[0], rows, columns];
  const shape = broadcast(m.slice(0, -2), n.slice(0, -2), call).slice();
  shape.push(rows, columns);
  return shape;
}

const batchMatMul: Infer<AB, Transposes> = (inputs, attributes, call) =>
  call.make(productShape(inputs, attributes, call), inputs.a.dtype);

const fusedMatMul: Infer<AB & FusedInputs, Transposes & FusedAttributes> = (inputs, attributes, call) => {
  const product = { shape: productShape(inputs, attributes, call), dtype: fusedDtype(inputs, call) };
  return fuse(product, inputs, attributes, call);
};

/** The native backend converts operands to one dtype first. */
function fusedDtype({ a, b, bias }: AB & FusedInputs, call: KernelCall): DataType {
  if (!call.traits.unifiesDtypes || (a.dtype === b.dtype && (bias == null || bias.dtype === a.dtype))) return a.dtype;
  const product = upcastType(a.dtype, b.dtype);
  return bias == null ? product : upcastType(product, bias.dtype);
}

/** Matrix products. */
export const matmulKernels: InferTable = {
  _FusedMatMul: fusedMatMul,
  BatchMatMul: batchMatMul,
  Einsum: einsum,
};
