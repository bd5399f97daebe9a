import type { DispatchMode } from "@remat/dispatch-hook";
import type { Module } from "@remat/trace";
import type { Tensor } from "@tensorflow/tfjs-core";

/** A dispatch mode to which a tracker tells modules and their calls: `TraceRecorder` of `@remat/tracer`, which writes them into a trace. */
export interface ModuleRecorder extends DispatchMode {
  /** Makes a module known, and returns its index. */
  module(module: Module): number;
  /** Is told which parameters and buffers `module` owns, those of the modules in it included. */
  moduleWeights(module: number, parameters: readonly Tensor[], buffers: readonly Tensor[]): void;
  /** Is told what a tensor is for, a `Category` of `@remat/trace`. */
  categorizeTensor(tensor: Tensor, category: number): void;
  /** Is told that a call of `module` begins, inside the call `parent` (-1: none), and returns the index of the call. */
  enterCall(module: number, inputs: readonly Tensor[], parent: number): number;
  exitCall(call: number, outputs: readonly Tensor[]): void;
  /** Is told that the backward pass reaches a call, with the gradients of its outputs. */
  enterBackward(call: number, gradients: readonly Tensor[]): void;
  exitBackward(call: number, gradients: readonly Tensor[]): void;
  mark(name: string): void;
}
