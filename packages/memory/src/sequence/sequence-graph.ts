import type { Rows } from "@remat/trace";

/**
 * What a sequence in which nodes may run several times is made of, as memory sees it: nodes that make values from values. A node's index is its
 * place in the given order, in which it can run. A value is what memory is spent on; a node may make several, each with a life of its own.
 *
 * While a node runs, what it reads, what it makes and its workspace are held; a value is held from the node that makes it to the last that
 * reads it, before it is recomputed.
 */
export interface SequenceGraph {
  readonly nodeCount: number;
  readonly valueCount: number;
  /** Bytes held only while each node runs. */
  readonly workspaceBytes: Float64Array;
  /** The values that each node makes, and reads (each once). */
  readonly outputs: Rows;
  readonly inputs: Rows;
  readonly bytes: Float64Array;
  /** 1 for a value that the caller gets: held to the end. */
  readonly result: Uint8Array;
  /** Bytes held all the time: weights, optimizer slots, inputs. */
  readonly baseBytes: number;
}
