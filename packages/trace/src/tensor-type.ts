/**
 * Dtype and shape of a tensor as a trace file writes them: `float32[8,1024,768]`, `float32[]` for a scalar. @internal
 */
export interface TensorType {
  readonly dtype: string;
  readonly shape: readonly number[];
}

/** Undefined where `text` is no tensor type. The dtype is everything before the last bracket. @internal */
export function parseTensorType(text: string): TensorType | undefined {
  const open = text.lastIndexOf("[");
  if (open < 0 || !text.endsWith("]")) return undefined;
  const dtype = text.slice(0, open);
  const inside = text.slice(open + 1, -1);
  if (inside === "") return { dtype, shape: [] };
  const shape: number[] = [];
  for (const part of inside.split(",")) {
    const size = Number(part);
    if (!/^\d+$/.test(part) || !Number.isSafeInteger(size)) return undefined;
    shape.push(size);
  }
  return { dtype, shape };
}
