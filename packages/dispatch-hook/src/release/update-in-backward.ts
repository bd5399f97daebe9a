import { Phase, RematError } from "@remat/trace";
import type { NamedTensorMap, Optimizer, Tensor, Variable } from "@tensorflow/tfjs-core";
import { leaveNode } from "../backward-pass.js";
import { isVariable } from "../engine-internals.js";
import type { GradientsCall, UpdateTurns } from "../engine-records.js";
import type { Session } from "../session.js";
import { wantsUpdateInBackward } from "../wanted-of-pass.js";
import { listInTurns } from "./list-in-turns.js";
import { ReadGuard } from "./read-guard.js";

/** Runs the backward pass to its end, and reports after each node the variables whose gradients are final. */
export type RunBackwardPass = (nodeOver: (final: readonly Tensor[]) => void) => void;

/** The gradients of the backward pass that the update reads. */
export interface FinalGradients {
  get(id: number): Tensor | undefined;
  delete(id: number): void;
}

/**
 * A weight update by an optimizer of TensorFlow.js that runs during the backward pass. Each weight is updated when its
 * gradient is final, which is then freed.
 *
 * The optimizer's method is called once, so state shared by all weights (powers of Adam's betas, the iteration count)
 * advances once, and each weight gets the slots of its index. All seven optimizers iterate over the list of names with
 * `forEach`. Here `forEach` runs the backward pass, and calls back for each weight at its turn.
 *
 * @internal
 */
export class BackwardUpdate implements UpdateTurns {
  private readonly session: Session;
  private readonly optimizer: Optimizer;
  private readonly listed: readonly Variable[] | undefined;
  place: number | undefined;
  private readonly consumed = new Map<number, Tensor>();
  private hasRun = false;
  private gradients: FinalGradients | undefined;
  /** Variable names by index. */
  private names: readonly string[] = [];
  /** Variables by index. Undefined for one that is not trainable. */
  variables: readonly (Variable | undefined)[] = [];
  waits: UpdateTurns["waits"];

  constructor(session: Session, optimizer: Optimizer, listed: readonly Variable[] | undefined) {
    this.session = session;
    this.optimizer = optimizer;
    this.listed = listed;
  }

  /** Runs the backward pass with the update in it. `withGradient` contains the ids of variables that get a gradient. */
  run(
    xs: readonly Tensor[],
    withGradient: ReadonlySet<number>,
    gradients: FinalGradients,
    pass: RunBackwardPass,
  ): void {
    const trained = new Map(xs.map((x) => [(x as Variable).name, x as Variable]));
    this.names = this.listed?.map(({ name }) => name) ?? namesInOrder(xs, withGradient);
    this.variables = this.names.map((name) => trained.get(name));
    this.gradients = gradients;
    const { session } = this;
    session.update.turns = this;
    try {
      const list = listInTurns(
        this.names,
        (place) => this.gradientAt(place),
        (update) => this.takeTurns(pass, update),
      );
      this.optimizer.applyGradients(list as unknown as NamedTensorMap);
    } finally {
      session.update.turns = undefined;
    }
    if (!this.hasRun)
      throw new RematError(
        "UPDATE_IN_BACKWARD",
        `${this.optimizer.getClassName()} of this TensorFlow.js version cannot update weights during the backward ` +
          "pass; 4.17 to 4.22 can. Remove updateInBackward.",
      );
    if (session.update.minimizer !== undefined) session.update.minimizer.isUpdated = true;
  }

  /** Returns a variable's former gradient, which is freed by now. */
  consumedOf({ id }: Tensor): Tensor | undefined {
    return this.consumed.get(id);
  }

  freeGradient(): void {
    const variable = this.place === undefined ? undefined : this.variables[this.place];
    if (variable !== undefined) this.gradients?.delete(variable.id);
  }

  /** Returns a variable's gradient during its turn. */
  private gradientAt(place: number): Tensor | undefined {
    const variable = this.place === place ? this.variables[place] : undefined;
    return variable && this.gradients?.get(variable.id);
  }

  private takeTurns(pass: RunBackwardPass, update: (place: number) => void): void {
    const { session, variables } = this;
    this.hasRun = true;
    const placeOf = new Map<Tensor, number>();
    variables.forEach((variable, place) => {
      if (variable !== undefined) placeOf.set(variable, place);
    });
    const waiting = new Set(variables.keys());
    const guard = new ReadGuard(session);
    const turn = (place: number): void => {
      waiting.delete(place);
      this.place = place;
      session.engine.startScope();
      try {
        update(place);
      } finally {
        session.engine.endScope();
        this.place = undefined;
      }
    };
    /** Indices of variables whose gradients are final and that wait for their turns. */
    const final = new Set<number>();
    const updateFinal = (place: number): void => {
      const variable = variables[place] as Variable;
      final.delete(place);
      session.setPhase(Phase.optimizer);
      const gradient = this.gradients?.get(variable.id) as Tensor;
      turn(place);
      this.consumed.set(variable.id, gradient);
      this.gradients?.delete(variable.id);
      guard.updated(variable);
      session.setPhase(Phase.backward);
    };
    session.setPhase(Phase.backward);
    const open = session.modes.push(guard);
    try {
      pass((variables) => {
        for (const variable of variables) {
          const place = placeOf.get(variable);
          if (place !== undefined && this.gradients?.get(variable.id) !== undefined) final.add(place);
        }
        if (final.size === 0) return;
        leaveNode(session);
        for (const place of final) if (this.waits?.(place, final) !== true) updateFinal(place);
      });
      leaveNode(session);
      for (const place of final) updateFinal(place);
    } finally {
      session.modes.remove(open);
      session.setPhase(Phase.optimizer);
    }
    // Variables without a gradient get their slots, as in unmodified TensorFlow.js.
    for (const place of waiting) turn(place);
  }
}

/** Returns names in the order of the keys that `variableGrads` would return: names that are numbers come first. */
function namesInOrder(xs: readonly Tensor[], withGradient: ReadonlySet<number>): string[] {
  const named: Record<string, true> = {};
  for (const x of xs) if (withGradient.has(x.id)) named[(x as Variable).name] = true;
  return Object.keys(named);
}

/**
 * Returns the update to run in the backward pass of a call, if a mode requests that. Undefined if no mode does. Also
 * undefined if the update cannot run there. In that case, modes are notified of the reason.
 *
 * @internal
 */
export function updateInBackwardOf(session: Session, { xs, dy }: GradientsCall): BackwardUpdate | undefined {
  const { modes } = session;
  const { minimizer } = session.update;
  if (!wantsUpdateInBackward(modes)) return undefined;
  const reason = reasonAgainst(session, xs, dy);
  if (reason === undefined && minimizer !== undefined)
    return new BackwardUpdate(session, minimizer.optimizer, minimizer.listed);
  for (const open of modes.listeners("updateAfterBackward"))
    if (modes.isInside(open)) open.mode.updateAfterBackward(reason ?? "");
  return undefined;
}

function reasonAgainst(session: Session, xs: readonly Tensor[], dy: Tensor | undefined): string | undefined {
  const { minimizer } = session.update;
  if (minimizer === undefined || minimizer.isUpdated)
    return "gradients are handed to the program (by grads, variableGrads, computeGradients, or a minimize of its own), which may read, sum or clip them";
  const { optimizer, listed } = minimizer;
  if (!session.update.tfjsUpdates.has(optimizer.applyGradients))
    return `applyGradients of ${optimizer.constructor.name} is not one of TensorFlow.js's own, and may read the gradients of all weights`;
  if (session.update.tfjsComputes !== optimizer.computeGradients)
    return `computeGradients of ${optimizer.constructor.name} is not TensorFlow.js's own, and may read the gradients`;
  if (dy !== undefined || !xs.every(isVariable) || new Set(xs).size < xs.length || hasRepeated(listed))
    return "the same weight is listed twice";
  return undefined;
}

const hasRepeated = (listed: readonly Variable[] | undefined): boolean =>
  listed !== undefined && new Set(listed).size < listed.length;
