import { Category, EventKind, Phase, row, type Trace } from "@remat/trace";
import { elementBytes, isFloatDtype, type ShardingPlan } from "./sharding-plan.js";
import type { StorageRoles } from "./storage-roles.js";

/** What mixed precision changes in a recorded run. */
export interface CastStorages {
  /** By storage: 1 where it is made in the parameters' dtype. */
  readonly isLow: Uint8Array;
  readonly lowDtype: string;
  /** By event at which a module ends: storages of its outputs that the model's code then casts, and the dtype. */
  readonly explicit: ReadonlyMap<number, readonly { readonly storage: number; readonly dtype: string }[]>;
}

export interface CastScope {
  readonly root: number;
  /** Modules whose outputs are cast to a wider dtype. */
  readonly castModules: ReadonlyMap<number, string>;
}

/** Results that stay in float32 whatever goes in: statistics, by the position of the result. Source: ATen's CUDA kernels. */
const wideResults: Readonly<Record<string, readonly number[]>> = {
  native_layer_norm: [1, 2],
  native_group_norm: [1, 2],
  native_batch_norm: [1, 2],
  cudnn_batch_norm: [1, 2],
  _fused_rms_norm: [1],
  _scaled_dot_product_efficient_attention: [1],
  _scaled_dot_product_flash_attention: [1],
  _scaled_dot_product_cudnn_attention: [1],
};
/**
 * Kernels that may be given statistics or weights wider than their first tensor, whose dtype the result has: normalisation, and what computes
 * a gradient from the gradient of a result.
 */
const firstDecides = /batch_norm|layer_norm|group_norm|rms_norm|BatchNorm|_backward/;

/**
 * Tells which storages a run makes in the parameters' lower dtype, when parameters are gathered and inputs cast in it: each op's results follow
 * PyTorch's promotion (a wider tensor with dimensions wins; scalars do not), but for statistics. tfjs computes in float32 only, so there what
 * code makes by itself (masks, constants) or reads as a buffer takes no part in it, and a gradient has the dtype of what it is the gradient
 * of, as in PyTorch. Undefined where the plan casts nothing.
 */
export function castStorages(
  trace: Trace,
  plan: ShardingPlan,
  roles: Pick<StorageRoles, "becomesParameter" | "firstTensor">,
  scope: CastScope,
): CastStorages | undefined {
  const lowDtype = plan.mixedPrecision?.param;
  if (lowDtype === undefined) return undefined;
  const flow = new DtypeFlow(trace, lowDtype, roles, scope);
  const { kind, subject, value, count } = trace.events;
  for (let event = 0; event < count; event++) {
    if (kind[event] === EventKind.op) flow.op(subject[event]);
    else if (kind[event] === EventKind.enterModule) flow.enter(subject[event]);
    else if (kind[event] === EventKind.exitModule) flow.exit(subject[event], event);
    else if (kind[event] === EventKind.categorize && value[event] === Category.buffer)
      flow.becomeBuffer(subject[event]);
  }
  return { isLow: flow.isLow, lowDtype, explicit: flow.explicit };
}

class DtypeFlow {
  readonly isLow: Uint8Array;
  readonly explicit = new Map<number, { storage: number; dtype: string }[]>();
  private readonly trace: Trace;
  private readonly lowDtype: string;
  private readonly scope: CastScope;
  private readonly known: Uint8Array;
  /** Storages that are read in the lower dtype inside the root: gathered parameters and cast inputs. */
  private readonly lowInside: Uint8Array;
  /** Low storages that are read through a cast to a wider dtype. */
  private readonly widened: Uint8Array;
  /** The stack of the op that made each storage; -1 where none did. */
  private readonly madeIn: Int32Array;
  /** 1: ops that compute in the lower dtype. */
  private readonly lowOps: Uint8Array;
  /** Whether the run knows one float dtype only, so that its own says nothing of what the model's code would choose. */
  private readonly oneFloat: boolean;

  constructor(
    trace: Trace,
    lowDtype: string,
    roles: Pick<StorageRoles, "becomesParameter" | "firstTensor">,
    scope: CastScope,
  ) {
    this.trace = trace;
    this.lowDtype = lowDtype;
    this.scope = scope;
    this.isLow = new Uint8Array(trace.storages.count);
    this.known = new Uint8Array(trace.storages.count);
    this.lowInside = new Uint8Array(trace.storages.count);
    this.widened = new Uint8Array(trace.storages.count);
    this.madeIn = new Int32Array(trace.storages.count).fill(-1);
    this.lowOps = new Uint8Array(trace.ops.count);
    this.oneFloat = trace.header.framework === "tfjs";
    for (let storage = 0; storage < trace.storages.count; storage++) {
      const tensor = roles.firstTensor[storage];
      if (roles.becomesParameter[storage] === 1 && tensor >= 0 && this.isWide(tensor)) this.lowInside[storage] = 1;
    }
  }

  op(op: number): void {
    const { trace } = this;
    const outputs = trace.opOutputs(op);
    const inputs = trace.opInputs(op);
    const low = trace.ops.phase[op] !== Phase.optimizer && this.resultIsLow(op, inputs);
    if (low) this.lowOps[op] = 1;
    for (const tensor of inputs)
      for (const s of trace.tensorStorages(tensor)) {
        if (low && this.oneFloat && this.known[s] === 0 && this.isWide(tensor) && this.isMadeByCode(s))
          this.isLow[s] = 1;
        this.known[s] = 1;
      }
    const wide = low ? wideResults[packetOf(trace.opName(op))] : undefined;
    for (let k = 0; k < outputs.length; k++)
      for (const s of trace.tensorStorages(outputs[k])) {
        if (this.known[s] === 1) continue;
        this.known[s] = 1;
        this.madeIn[s] = trace.ops.stack[op];
        if (low && !wide?.includes(k) && this.isWide(outputs[k])) this.isLow[s] = 1;
      }
  }

  enter(eventRow: number): void {
    const { trace, scope } = this;
    const { call, phase, tensors } = trace.moduleEvents;
    if (phase[eventRow] !== Phase.forward || trace.calls.module[call[eventRow]] !== scope.root) return;
    for (const tensor of row(tensors, eventRow))
      if (this.isWide(tensor)) this.lowInside[trace.tensors.storage[tensor]] = 1;
  }

  exit(eventRow: number, event: number): void {
    const { trace, scope } = this;
    if (trace.moduleEvents.phase[eventRow] !== Phase.forward) return;
    const dtype = scope.castModules.get(trace.calls.module[trace.moduleEvents.call[eventRow]]);
    if (dtype === undefined || elementBytes(dtype) <= elementBytes(this.lowDtype)) return;
    const casts: { storage: number; dtype: string }[] = [];
    for (const tensor of row(trace.moduleEvents.tensors, eventRow)) {
      const storage = trace.tensors.storage[tensor];
      if (this.isLow[storage] !== 1 || this.widened[storage] === 1) continue;
      this.widened[storage] = 1;
      casts.push({ storage, dtype });
    }
    if (casts.length > 0) this.explicit.set(event, casts);
  }

  /** An update of statistics: buffers are not cast. */
  becomeBuffer(storage: number): void {
    this.isLow[storage] = 0;
    this.madeIn[storage] = -1;
  }

  /** Whether no op made it, nor was it given to the root. */
  private isMadeByCode(storage: number): boolean {
    const category = this.trace.storages.category[storage];
    return this.lowInside[storage] === 0 && (category === Category.other || category === Category.temporary);
  }

  private resultIsLow(op: number, inputs: Int32Array): boolean {
    const { trace, scope } = this;
    const phase = trace.ops.phase[op];
    // Stacks of the backward pass may lack the root, whose pass is not nested as the forward pass is.
    const inBackward = phase === Phase.backward || phase === Phase.recompute;
    const { forwardOp } = trace.ops;
    if (this.oneFloat && phase === Phase.backward && forwardOp[op] >= 0) return this.lowOps[forwardOp[op]] === 1;
    let inRoot = false;
    let castModule = -1;
    for (const call of trace.opCalls(op)) {
      const module = trace.calls.module[call];
      if (module === scope.root) inRoot = true;
      if (phase === Phase.backward && scope.castModules.has(module)) castModule = module;
    }
    let lowTensor = false;
    let wideTensor = false;
    let lowScalar = false;
    const onlyFirst = firstDecides.test(trace.opName(op));
    for (const tensor of inputs) {
      if (!isFloatDtype(trace.tensorDtype(tensor))) continue;
      const s = trace.tensors.storage[tensor];
      // The gradient that enters a module whose output was cast is cast back.
      const castBack = castModule >= 0 && this.isWide(tensor) && !this.isMadeIn(s, castModule);
      const low =
        (this.isLow[s] === 1 && (this.widened[s] === 0 || castModule >= 0)) ||
        (this.lowInside[s] === 1 && (inRoot || inBackward)) ||
        castBack;
      if (onlyFirst) return low;
      if (this.oneFloat && !low && this.madeIn[s] < 0 && (inRoot || inBackward)) continue;
      const scalar = trace.tensors.shape.start[tensor] === trace.tensors.shape.start[tensor + 1];
      if (scalar) lowScalar ||= low;
      else if (low) lowTensor = true;
      else if (this.isWide(tensor)) wideTensor = true;
    }
    const followsCode = this.oneFloat && (inRoot || inBackward);
    return (lowTensor || lowScalar || followsCode) && !wideTensor;
  }

  private isMadeIn(storage: number, module: number): boolean {
    const { trace } = this;
    const stack = this.madeIn[storage];
    return stack >= 0 && row(trace.stacks, stack).some((call) => trace.calls.module[call] === module);
  }

  private isWide(tensor: number): boolean {
    const dtype = this.trace.tensorDtype(tensor);
    return isFloatDtype(dtype) && elementBytes(dtype) > elementBytes(this.lowDtype);
  }
}

/** `native_layer_norm` of `aten.native_layer_norm.default`; a tfjs kernel's name as it is. */
function packetOf(name: string): string {
  return name.split(".")[1] ?? name;
}
