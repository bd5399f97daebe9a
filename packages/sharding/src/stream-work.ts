/**
 * The work of FSDP2 on the streams of a rank, without the ops of the model, in program order.
 *
 * `op` is the number of ops of the rank's trace before the work. `group` is a group of the simulation, by number.
 */
export type StreamWork =
  /** A forward pass of the root begins. All-gathers wait for the computation before it. */
  | { readonly kind: "begin"; readonly op: number }
  /** `bytes` are all-gathered over `ranks`, after `hostBytes` have come from the host. */
  | {
      readonly kind: "gather";
      readonly op: number;
      readonly group: number;
      readonly bytes: number;
      readonly ranks: number;
      readonly hostBytes: number;
    }
  /** Compute waits for the all-gather and copies the parameters out. */
  | { readonly kind: "use"; readonly op: number; readonly group: number; readonly bytes: number }
  /** The unsharded parameters are freed. */
  | { readonly kind: "reshard"; readonly op: number; readonly group: number }
  /** Compute waits for the oldest reduction, whose buffer is reused. */
  | { readonly kind: "awaitReduction"; readonly op: number }
  /**
   * Gradients of `bytes` are copied together and reduced over `ranks`, the result is reduced over `replicas`, and
   * `hostBytes` go to the host.
   */
  | {
      readonly kind: "reduce";
      readonly op: number;
      readonly group: number;
      readonly bytes: number;
      readonly ranks: number;
      readonly replicas: number;
      readonly hostBytes: number;
    }
  /** The backward pass is over. Compute waits for everything. */
  | { readonly kind: "join"; readonly op: number };
