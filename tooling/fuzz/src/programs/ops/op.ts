/**
 * The kind of a value in a program: a matrix [batch, 6], a sequence [batch, 4, 6], an image [batch, 4, 4, 3], or a
 * volume [batch, 2, 4, 4, 2].
 */
export type Kind = "matrix" | "sequence" | "image" | "volume";

/** Shape of a value of each kind, without its batch. */
export const shapes: Readonly<Record<Kind, readonly number[]>> = {
  matrix: [6],
  sequence: [4, 6],
  image: [4, 4, 3],
  volume: [2, 4, 4, 2],
};

export const kinds: readonly Kind[] = Object.keys(shapes) as Kind[];

/**
 * An op of a program, as the text of an expression. `$x` stands for its input, `$y` for another value of the input's
 * kind, `$B` for the batch, `$w[6, 6]` for a weight of that shape, `$c[6]` for a constant, `$i[4, 6]` for four integers
 * below 6, and `$l{tf.layers.dense({ units: 6 })}` for a layer that is made once.
 */
export interface Op {
  readonly from: Kind;
  readonly to: Kind;
  readonly text: string;
}

/** Reads a table of texts, one per line. */
export const opsOf = (from: Kind, to: Kind, table: string): Op[] =>
  table
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((text) => ({ from, to, text }));
