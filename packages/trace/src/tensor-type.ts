/** Dtype and shape of a tensor. */
export interface TensorType {
  readonly dtype: string;
  readonly shape: readonly number[];
}

/** Formats a tensor type as in trace and plan files: `float32[8,1024,768]`, or `float32[]` for a scalar. @internal */
export function formatTensorType({ dtype, shape }: TensorType): string {
  return `${dtype}[${shape.join()}]`;
}

/**
 * Parses the format of {@link formatTensorType} with any dtype. Returns undefined if `text` is not a tensor type.
 * @internal
 */
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
