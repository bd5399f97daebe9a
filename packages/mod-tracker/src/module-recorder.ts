import type { DispatchMode } from "@remat/dispatch-hook";
import type { Module } from "@remat/trace";
import type { Tensor } from "@tensorflow/tfjs-core";

/**
 * A dispatch mode that records modules and their calls, such as `TraceRecorder` of `@remat/tracer`, which writes them
 * to a trace.
 */
export interface ModuleRecorder extends DispatchMode {
  /** Adds a module and returns its index. */
  module(module: Module): number;
  /** Records the parameters and buffers of `module`, including those of modules inside it. */
  moduleWeights(module: number, parameters: readonly Tensor[], buffers: readonly Tensor[]): void;
  /** Records the `Category` (of `@remat/trace`) of a tensor. */
  categorizeTensor(tensor: Tensor, category: number): void;
  /** Records the beginning of a call of `module` inside the call `parent` (-1: none). Returns the index of the call. */
  enterCall(module: number, inputs: readonly Tensor[], parent: number): number;
  /** Records the end of a call. */
  exitCall(call: number, outputs: readonly Tensor[]): void;
  /** Records that the backward pass reaches a call, with the gradients of its outputs. */
  enterBackward(call: number, gradients: readonly Tensor[]): void;
  /** Records the end of a call's backward pass, with the gradients of its inputs. */
  exitBackward(call: number, gradients: readonly Tensor[]): void;
  /** Adds a named mark to the trace. */
  mark(name: string): void;
}
