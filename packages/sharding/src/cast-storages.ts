import {
  float32Results,
  hasDtypeOfFirst,
  isSum,
  packetOf,
  softmaxPackets,
  takesOneDtype,
} from "@remat/runtime-estimator/aten";
import { Category, EventKind, type OpIndex, Phase, row, type StorageIndex, type Trace } from "@remat/trace";
import type { CastScope } from "./cast-scope.js";
import { getOrInsert } from "./get-or-insert.js";
import type { FloatIslands } from "./own-casts.js";
import { isFloatDtype } from "./sharding-plan.js";
import { StorageDtypes } from "./storage-dtypes.js";
import type { StorageRoles } from "./storage-roles.js";
import { UnitCasts } from "./unit-casts.js";

/** The changes of mixed precision to a recorded run. */
export interface CastStorages {
  /** For each storage, 1 if it is created in the lower dtype. */
  readonly isLow: Uint8Array;
  readonly lowDtype: string;
  /** For each event at which a module ends, the storages of its outputs that are cast afterwards, with the dtype. */
  readonly explicit: ReadonlyMap<number, readonly { readonly storage: number; readonly dtype: string }[]>;
  /**
   * For each FSDP unit that computes in a different dtype from the others, the inputs that it gets in the other dtype
   * and casts.
   */
  readonly inputs: ReadonlyMap<number, ReadonlySet<number>>;
  /** For each call of such a unit, the tensors from outside that its ops read, as positional or keyword arguments. */
  readonly readFromOutside: ReadonlyMap<number, ReadonlySet<number>>;
  /** The units among them that cast to the wider dtype. */
  readonly castsUp: ReadonlySet<number>;
  /**
   * For each FSDP unit, the gradients that its backward pass creates in a dtype other than that of the matching input,
   * with the dtype to which autograd casts them.
   */
  readonly gradients: ReadonlyMap<number, ReadonlyMap<number, string>>;
  /**
   * The first op that needs a single dtype and would get two, or -1 if none exists. Only possible if just some
   * modules compute in the lower dtype.
   */
  readonly twoDtypes: number;
  /**
   * For each op, the storages that it reads in a dtype other than the one they were created in, and whether it reads
   * them in the lower dtype. These are casts of the model's own code.
   */
  readonly byOp: ReadonlyMap<number, ReadonlyMap<number, boolean>>;
}

/** The maximum number of passes over a run. Each pass finds casts that follow from those found before. */
const mostPasses = 12;

/**
 * Returns the storages that a run creates in a lower dtype, if its parameters are all-gathered in that dtype and its
 * inputs are cast to it. Returns undefined if nothing is cast.
 *
 * The result of each op follows the promotion rules of PyTorch: it gets the dtype of the widest input that is not a
 * scalar. Statistics stay wide. PyTorch rejects matrix products of two dtypes. If a wider tensor (a table of cosines, a
 * mask) would cause one, it is assumed to be created in the dtype of the other operand. A run of one dtype does not
 * show this.
 *
 * TensorFlow.js computes in float32 only. In its runs, tensors that code creates by itself (masks, constants) or reads
 * as a buffer do not take part in promotion. As in PyTorch, a gradient has the dtype of the tensor it belongs to.
 */
export function castStorages(
  trace: Trace,
  lowDtype: string | undefined,
  roles: Pick<StorageRoles, "becomesParameter" | "firstTensor" | "gradients">,
  scope: CastScope,
): CastStorages | undefined {
  if (lowDtype === undefined) return undefined;
  const narrowed = new Set<number>();
  for (let pass = 1; ; pass++) {
    const flow = flowThrough(trace, new DtypeFlow(trace, lowDtype, roles, scope, narrowed));
    const { twoDtypes, byOp } = flow;
    const { isLow } = flow.dtypes;
    const { explicit, inputs, gradients } = flow.units;
    if (flow.refused.size === 0 || pass === mostPasses) {
      const { castsUp = new Set<number>(), readFromOutside = new Map<number, ReadonlySet<number>>() } =
        scope.mixed ?? {};
      return { isLow, lowDtype, explicit, inputs, readFromOutside, gradients, twoDtypes, byOp, castsUp };
    }
    for (const storage of flow.refused) narrowed.add(storage);
  }
}

function flowThrough(trace: Trace, flow: DtypeFlow): DtypeFlow {
  const { kind, subject, value, count } = trace.events;
  for (let event = 0; event < count; event++) {
    if (kind[event] === EventKind.op) flow.op(subject[event]);
    else if (kind[event] === EventKind.enterModule) flow.units.enter(subject[event]);
    else if (kind[event] === EventKind.exitModule) flow.units.exit(subject[event], event);
    else if (kind[event] === EventKind.categorize && value[event] === Category.buffer)
      flow.becomeBuffer(subject[event]);
  }
  return flow;
}

/** Follows dtypes from op to op. */
class DtypeFlow {
  readonly dtypes: StorageDtypes;
  readonly units: UnitCasts;
  twoDtypes = -1;
  readonly byOp = new Map<number, Map<number, boolean>>();
  /** For each innermost call, the storages that its forward ops cast, and whether to the lower dtype. */
  private readonly readIn = new Map<number, Map<number, boolean>>();
  /** 1 for a storage created in the wider dtype by an op whose result the model's code passes on in the lower dtype. */
  private readonly handsBack: Uint8Array;
  /** For each gradient in the wider dtype, by storage, the call whose backward pass has it in that dtype, or -1. */
  private readonly wideIn: Int32Array;
  /**
   * For the current op: whether its result is passed on in the lower dtype, and the call in which the result is wide,
   * or -1.
   */
  private handing = false;
  private wideCall = -1;
  /** Wider tensors that some op cannot have received without a cast. */
  readonly refused = new Set<number>();
  /**
   * For each storage in a wider dtype, the input storage that made it wide although the op also read narrower ones, or
   * -1 if none exists.
   */
  private readonly widenedBy: Int32Array;
  /** Storages that the model's code creates in the lower dtype, or casts to it. */
  private readonly narrowed: ReadonlySet<number>;
  private readonly trace: Trace;
  private readonly scope: CastScope;
  /** Gradients of parameters. */
  private readonly ofParameters: StorageRoles["gradients"];
  private readonly known: Uint8Array;
  /** 1 for each op that computes in the lower dtype. */
  private readonly lowOps: Uint8Array;
  /** The storage that makes the result of the current op wide although other inputs are in the lower dtype, or -1. */
  private meeting = -1;
  /**
   * True if the run has only one float dtype. Its dtypes then do not show which dtypes the model's code would choose.
   */
  private readonly oneFloat: boolean;

  constructor(
    trace: Trace,
    lowDtype: string,
    roles: Pick<StorageRoles, "becomesParameter" | "firstTensor" | "gradients">,
    scope: CastScope,
    narrowed: ReadonlySet<number>,
  ) {
    this.trace = trace;
    this.scope = scope;
    this.dtypes = new StorageDtypes(trace, lowDtype);
    this.units = new UnitCasts(trace, this.dtypes, scope, roles.gradients);
    this.ofParameters = roles.gradients;
    this.narrowed = narrowed;
    this.widenedBy = new Int32Array(trace.storages.count).fill(-1);
    this.known = new Uint8Array(trace.storages.count);
    this.lowOps = new Uint8Array(trace.ops.count);
    this.handsBack = new Uint8Array(trace.storages.count);
    this.wideIn = new Int32Array(trace.storages.count).fill(-1);
    this.oneFloat = trace.header.framework === "tfjs";
    for (let storage = 0; storage < trace.storages.count; storage++) {
      const tensor = roles.firstTensor[storage];
      if (roles.becomesParameter[storage] === 0 || tensor < 0 || !this.dtypes.isWide(tensor)) continue;
      if (scope.mixed === undefined || scope.mixed.lowParameters.has(storage)) this.dtypes.lowInside[storage] = 1;
    }
  }

  op(op: OpIndex): void {
    const { trace } = this;
    const outputs = trace.opOutputs(op);
    const inputs = trace.opInputs(op);
    this.meeting = -1;
    this.handing = false;
    this.wideCall = -1;
    const low = trace.ops.phase[op] !== Phase.optimizer && this.resultIsLow(op, inputs);
    if (low) this.lowOps[op] = 1;
    for (const tensor of inputs)
      for (const s of trace.tensorStorages(tensor)) {
        if (low && this.oneFloat && this.known[s] === 0 && this.dtypes.isWide(tensor) && this.isMadeByCode(s))
          this.dtypes.isLow[s] = 1;
        this.known[s] = 1;
      }
    const wide = low ? float32Results[packetOf(trace.opName(op))] : undefined;
    for (let k = 0; k < outputs.length; k++)
      for (const s of trace.tensorStorages(outputs[k])) {
        if (this.known[s] === 1) continue;
        this.known[s] = 1;
        this.dtypes.madeIn[s] = trace.ops.stack[op];
        this.dtypes.madeBy[s] = op;
        if (this.narrowed.has(s)) this.dtypes.isLow[s] = 1;
        else if (!low) {
          this.widenedBy[s] = this.meeting;
          if (this.handing) this.handsBack[s] = 1;
          this.wideIn[s] = this.wideCall;
          // The gradient of a parameter gets the parameter's dtype.
          if ((this.handing || this.wideCall >= 0) && this.ofParameters.has(s)) this.dtypes.isLow[s] = 1;
        }
        if (low && !wide?.includes(k) && this.dtypes.isWide(outputs[k])) this.dtypes.isLow[s] = 1;
      }
  }

  /** Handles an update of statistics: buffers are not cast. */
  becomeBuffer(storage: StorageIndex): void {
    this.dtypes.isLow[storage] = 0;
    this.dtypes.madeIn[storage] = -1;
  }

  /** Returns whether neither an op created the storage nor the root was given it. */
  private isMadeByCode(storage: StorageIndex): boolean {
    const category = this.trace.storages.category[storage];
    return this.dtypes.lowInside[storage] === 0 && (category === Category.other || category === Category.temporary);
  }

  private resultIsLow(op: OpIndex, inputs: Int32Array): boolean {
    const { trace, scope } = this;
    const phase = trace.ops.phase[op];
    // Stacks of the backward pass may lack the root, whose backward pass is not nested as its forward pass is.
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
    let wider = -1;
    const onlyFirst = hasDtypeOfFirst(trace.opName(op)) || /BatchNorm/.test(trace.opName(op));
    const reads = scope.islands === undefined || this.oneFloat ? undefined : new IslandReads(scope.islands);
    for (const tensor of inputs) {
      if (!isFloatDtype(trace.tensorDtype(tensor))) continue;
      const s = trace.tensors.storage[tensor];
      // The gradient that enters a module whose output was cast is cast back.
      const castBack = castModule >= 0 && this.dtypes.isWide(tensor) && !this.dtypes.isMadeIn(s, castModule);
      const given =
        scope.mixed !== undefined
          ? this.units.isReadLow(s, op, phase, castModule) || castBack
          : (this.dtypes.isLow[s] === 1 && (this.dtypes.widened[s] === 0 || castModule >= 0)) ||
            (this.dtypes.lowInside[s] === 1 && (inRoot || inBackward)) ||
            castBack ||
            this.narrowed.has(s) ||
            this.units.isCastFor(s, op);
      const low = reads === undefined || !this.dtypes.isWide(tensor) ? given : this.readAs(op, s, given, reads);
      if (onlyFirst && reads !== undefined) {
        reads.first ??= low;
        continue;
      }
      if (onlyFirst) return low;
      if (this.oneFloat && !low && this.dtypes.madeIn[s] < 0 && (inRoot || inBackward)) continue;
      const scalar = trace.tensors.shape.start[tensor] === trace.tensors.shape.start[tensor + 1];
      if (scalar) lowScalar ||= low;
      else if (low) lowTensor = true;
      else if (this.dtypes.isWide(tensor)) {
        wideTensor = true;
        if (wider < 0 || this.widenedBy[wider] < 0) wider = s;
      }
    }
    if (reads !== undefined) {
      if (onlyFirst) return this.firstIsLow(op, reads);
      const isWide = reads.islands.isWide[op];
      if (isWide !== 0 && inputs.length > 0) {
        this.handing = reads.casts && isWide === 1;
        if (reads.casts || wideTensor) {
          if (wider >= 0) this.meet(op, wider, lowTensor);
          return false;
        }
      }
      if (phase === Phase.backward && lowTensor && wideTensor) {
        if (this.isSumOfGradients(op)) {
          for (const storage of reads.wideGradients) this.castBy(op, storage, true);
          return true;
        }
        if (reads.readsWide) for (const storage of reads.lowGradients) this.castBy(op, storage, false);
      }
      if (phase === Phase.backward && wideTensor && reads.readsWide) this.wideCall = trace.opCalls(op).at(-1) ?? -1;
    }
    // PyTorch would refuse this op, so the code casts the wider tensor first and the result is not wide.
    if (wider >= 0 && !this.oneFloat && this.meet(op, wider, lowTensor)) return true;
    const followsCode = this.oneFloat && scope.mixed === undefined && (inRoot || inBackward);
    return (lowTensor || lowScalar || followsCode) && !wideTensor;
  }

  /**
   * Returns whether an op reads a storage in the lower dtype, including the effect of casts of the model's own code.
   *
   * @param given whether the op would read it in the lower dtype without such a cast
   */
  private readAs(op: OpIndex, storage: StorageIndex, given: boolean, reads: IslandReads): boolean {
    const { trace } = this;
    const { isWide } = reads.islands;
    const call = trace.opCalls(op).at(-1) ?? -1;
    const maker = this.dtypes.madeBy[storage];
    const toLow = (): boolean => {
      this.castBy(op, storage, true);
      return true;
    };
    if (trace.ops.phase[op] !== Phase.backward) {
      if (isWide[op] !== 0) {
        // A weight is read as it is, and the product of both is wide.
        if (this.handsBack[storage] === 1) reads.casts = true;
        if (!given || (this.dtypes.lowInside[storage] === 1 && trace.storages.category[storage] === Category.parameter))
          return given;
        reads.casts = true;
        this.castBy(op, storage, false);
        getOrInsert(this.readIn, call, () => new Map<number, boolean>()).set(storage, false);
        return false;
      }
      if (given || this.handsBack[storage] === 0) return given;
      getOrInsert(this.readIn, call, () => new Map<number, boolean>()).set(storage, true);
      return toLow();
    }
    if (maker >= 0 && trace.ops.phase[maker] === Phase.backward) {
      if (given) {
        reads.lowGradients.push(storage);
        return true;
      }
      const leaves = this.wideIn[storage] >= 0 && !trace.opCalls(op).includes(this.wideIn[storage]);
      if (this.handsBack[storage] === 1 || leaves) return toLow();
      reads.wideGradients.push(storage);
      if (this.wideIn[storage] >= 0) reads.readsWide = true;
      return false;
    }
    const readsResult = maker >= 0 && isWide[maker] !== 0 && softmaxPackets.gradient.test(trace.opName(op));
    if (readsResult) {
      reads.readsWide = true;
      reads.ofSoftmax = isWide[maker];
      return given;
    }
    const cast = this.readIn.get(call)?.get(storage);
    if (cast === false && given) {
      this.castBy(op, storage, false);
      reads.readsWide = true;
      return false;
    }
    if (cast === true && !given) return toLow();
    if (!given && maker >= 0 && isWide[maker] !== 0) reads.readsWide = true;
    return given;
  }

  /**
   * Returns whether an op whose dtype follows its first tensor computes in the lower dtype. The gradient of a wide
   * softmax is an exception: it is created wide and passed on in the lower dtype.
   */
  private firstIsLow(op: OpIndex, { first = false, ofSoftmax, lowGradients }: IslandReads): boolean {
    if (ofSoftmax === 0) return first;
    for (const storage of lowGradients) this.castBy(op, storage, false);
    this.handing = true;
    return false;
  }

  private isSumOfGradients(op: OpIndex): boolean {
    const { trace } = this;
    return (
      isSum(packetOf(trace.opName(op))) &&
      Array.from(trace.opInputs(op)).every((tensor) => {
        const maker = this.dtypes.madeBy[trace.tensors.storage[tensor]];
        return maker >= 0 && trace.ops.phase[maker] === Phase.backward;
      })
    );
  }

  private castBy(op: OpIndex, storage: StorageIndex, toLow: boolean): void {
    getOrInsert(this.byOp, op, () => new Map<number, boolean>()).set(storage, toLow);
  }

  /**
   * Returns whether the model's code may have cast a tensor. Returns false for a parameter that a plan leaves
   * unchanged, and for a tensor that units of two precisions pass on, because the plan sets the dtype of that tensor.
   */
  private mayBeCast(storage: StorageIndex): boolean {
    const { trace, scope, dtypes } = this;
    if (trace.storages.category[storage] === Category.parameter) return false;
    if (scope.mixed === undefined) return true;
    const made = dtypes.madeIn[storage];
    const unit =
      made < 0
        ? undefined
        : row(trace.stacks, made).findLast((call) => scope.mixed!.isLow.has(trace.calls.module[call]));
    return (
      unit !== undefined && scope.mixed.isLow.get(trace.calls.module[unit]) === true && dtypes.widened[storage] === 0
    );
  }

  /**
   * Records the tensor that makes the result of an op wide. Returns true if the op accepts only one dtype, so that it
   * cannot have these inputs.
   */
  private meet(op: OpIndex, wider: number, lowTensor: boolean): boolean {
    const began = this.widenedBy[wider];
    if (lowTensor || began >= 0) this.meeting = began >= 0 ? began : wider;
    if (!lowTensor || this.trace.ops.phase[op] !== Phase.forward) return false;
    if (!takesOneDtype(packetOf(this.trace.opName(op)))) return false;
    if (this.mayBeCast(this.meeting)) {
      this.refused.add(this.meeting);
      return true;
    }
    if (this.twoDtypes < 0) this.twoDtypes = op;
    return false;
  }
}

/** Facts about the tensors that an op reads. */
class IslandReads {
  readonly islands: FloatIslands;

  constructor(islands: FloatIslands) {
    this.islands = islands;
  }

  /** True if the first tensor is in the lower dtype. */
  first: boolean | undefined;
  /** True if any tensor is cast to the wider dtype, or comes from such a cast. */
  casts = false;
  /** True if any tensor is wide because the forward pass cast it. */
  readsWide = false;
  /**
   * The dtype in which the result of a softmax that was computed wide is passed on (see {@link FloatIslands.isWide}). 0
   * if the op reads no such result.
   */
  ofSoftmax = 0;
  readonly lowGradients: number[] = [];
  readonly wideGradients: number[] = [];
}
