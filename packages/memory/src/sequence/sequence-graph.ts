import type { Rows } from "@remat/trace";

/**
 * A graph for sequences in which nodes may run several times. Nodes create values from other values, and values use
 * memory. The index of a node is its position in the given order, in which the graph can run. A node may create several
 * values, each with its own life.
 *
 * While a node runs, its inputs, outputs and workspace are alive. A value lives from the node that creates it to the
 * last node that reads it before it is recomputed.
 */
export interface SequenceGraph {
  readonly nodeCount: number;
  readonly valueCount: number;
  /** Bytes in use only while each node runs. */
  readonly workspaceBytes: Float64Array;
  /** The values that each node makes and reads (each once). */
  readonly outputs: Rows;
  readonly inputs: Rows;
  readonly bytes: Float64Array;
  /** 1 for a value that is returned to the caller and lives to the end. */
  readonly result: Uint8Array;
  /** Bytes in use all the time: weights, optimizer slots, inputs. */
  readonly baseBytes: number;
}
