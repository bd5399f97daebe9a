/**
 * What FSDP2 has the streams of a rank do besides the ops of the model, in the order in which the program says so. `op`: how many ops of the rank's trace come
 * before; `group`: by number, of the simulation's.
 */
export type StreamWork =
  /** A forward pass of the root begins: what is gathered waits for what was computed before. */
  | { readonly kind: "begin"; readonly op: number }
  /** `bytes` are gathered over `ranks`, after `hostBytes` have come from the host. */
  | {
      readonly kind: "gather";
      readonly op: number;
      readonly group: number;
      readonly bytes: number;
      readonly ranks: number;
      readonly hostBytes: number;
    }
  /** What was gathered is waited for and copied out. */
  | { readonly kind: "use"; readonly op: number; readonly group: number; readonly bytes: number }
  /** What was gathered is freed. */
  | { readonly kind: "reshard"; readonly op: number; readonly group: number }
  /** The oldest reduction is waited for, whose buffer is used again. */
  | { readonly kind: "awaitReduction"; readonly op: number }
  /** Gradients of `bytes` are copied together and reduced over `ranks`, what is left of them over `replicas`; `hostBytes` go to the host. */
  | {
      readonly kind: "reduce";
      readonly op: number;
      readonly group: number;
      readonly bytes: number;
      readonly ranks: number;
      readonly replicas: number;
      readonly hostBytes: number;
    }
  /** The backward pass is over: all is waited for. */
  | { readonly kind: "join"; readonly op: number };
