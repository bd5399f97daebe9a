/**
 * A convolution written out as loops that count their multiplications and additions. Tensors are flat, with sizes
 * [batch, …space, channels]; padded positions are visited and hold 0.
 */
export interface ConvolutionShape {
  readonly input: readonly number[];
  /** […space, in, out], or […space, in, multiplier] for a depthwise one. */
  readonly filter: readonly number[];
  readonly output: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  /** Zeros before the first element of each spatial axis. */
  readonly padBefore: readonly number[];
  readonly depthwise: boolean;
}

/** One product of the convolution: output[`output`] += input[`input`] · filter[`filter`]; `input` is -1 in the padding. */
type Visit = (output: number, input: number, filter: number) => void;

/** Visits every product; each is a multiplication and an addition. */
function visitProducts(shape: ConvolutionShape, visit: Visit): number {
  const { input, filter, output, depthwise } = shape;
  const rank = input.length - 2;
  const inChannels = input[rank + 1];
  const outChannels = output[rank + 1];
  let flops = 0;
  for (const at of indices(output)) {
    const position = at.slice(1, rank + 1);
    const channel = at[rank + 1];
    const multiplier = outChannels / inChannels;
    const sources = depthwise ? [Math.floor(channel / multiplier)] : Array.from({ length: inChannels }, (_, i) => i);
    for (const tap of indices(filter.slice(0, rank))) {
      const source = position.map((p, i) => p * shape.strides[i] + tap[i] * shape.dilations[i] - shape.padBefore[i]);
      const inside = source.every((s, i) => s >= 0 && s < input[i + 1]);
      for (const from of sources) {
        const weight = flat(filter, [...tap, from, depthwise ? channel % multiplier : channel]);
        visit(flat(output, at), inside ? flat(input, [at[0], ...source, from]) : -1, weight);
        flops += 2;
      }
    }
  }
  return flops;
}

export interface Counted {
  readonly flops: number;
  readonly values: Float32Array;
}

export function convolve(shape: ConvolutionShape, input: Float32Array, filter: Float32Array): Counted {
  const values = new Float32Array(size(shape.output));
  const flops = visitProducts(shape, (o, i, f) => {
    values[o] += (i < 0 ? 0 : input[i]) * filter[f];
  });
  return { flops, values };
}

export function convolveGradInput(shape: ConvolutionShape, dy: Float32Array, filter: Float32Array): Counted {
  const values = new Float32Array(size(shape.input));
  const flops = visitProducts(shape, (o, i, f) => {
    if (i >= 0) values[i] += dy[o] * filter[f];
  });
  return { flops, values };
}

export function convolveGradFilter(shape: ConvolutionShape, input: Float32Array, dy: Float32Array): Counted {
  const values = new Float32Array(size(shape.filter));
  const flops = visitProducts(shape, (o, i, f) => {
    values[f] += (i < 0 ? 0 : input[i]) * dy[o];
  });
  return { flops, values };
}

export function size(shape: readonly number[]): number {
  return shape.reduce((product, n) => product * n, 1);
}

export function flat(shape: readonly number[], at: readonly number[]): number {
  return at.reduce((index, position, axis) => index * shape[axis] + position, 0);
}

export function* indices(shape: readonly number[]): Generator<readonly number[]> {
  const total = size(shape);
  for (let i = 0; i < total; i++) {
    const at: number[] = [];
    for (let axis = shape.length - 1, rest = i; axis >= 0; axis--) {
      at.unshift(rest % shape[axis]);
      rest = Math.floor(rest / shape[axis]);
    }
    yield at;
  }
}
