import fc from "fast-check";
import { type Kind, kinds, type Op, ops, opsWithoutGradient } from "./ops/index.js";

/** A statement of a program. Values are counted from the last of their kind. */
export type Statement =
  | { readonly does: "op"; readonly op: Op; readonly x: number; readonly y: number }
  | { readonly does: "dispose" | "read" | "keep" | "failInBackward"; readonly kind: Kind; readonly x: number }
  | { readonly does: "assign"; readonly x: number }
  | { readonly does: "fail"; readonly step: number }
  | { readonly does: Nested; readonly kind: Kind; readonly x: number; readonly statements: readonly Statement[] };

/** A statement with nested statements: a tidy, a checkpointed block, their gradient, or a custom gradient for them. */
export type Nested = "tidy" | "block" | "grad" | "customGrad";

export type OptimizerText = (typeof optimizers)[number];

/** How a step computes its gradients, and with respect to what. */
export type Update = "minimize" | "variableGrads" | "valueAndGrads";

/** A training program, as data. */
export interface Program {
  /** For each step. */
  readonly batches: readonly number[];
  readonly optimizer: OptimizerText;
  readonly update: Update;
  readonly statements: readonly Statement[];
}

const optimizers = [
  "tf.train.sgd(0.05)",
  "tf.train.momentum(0.05, 0.9)",
  "tf.train.momentum(0.05, 0.9, true)",
  "tf.train.adam(0.05)",
  "tf.train.adamax(0.05)",
  "tf.train.rmsprop(0.01)",
  "tf.train.rmsprop(0.01, 0.9, 0.1, 1e-7, true)",
  "tf.train.adagrad(0.05)",
  "tf.train.adadelta(0.05)",
] as const;

const place = fc.oneof({ arbitrary: fc.nat(1), weight: 3 }, { arbitrary: fc.nat(9), weight: 1 });
const kind = fc.constantFrom(...kinds);
const isElementwise = ({ from, to, text }: Op) => from === to && !/\$[wcil]/.test(text);
const opOf = (ops: readonly Op[]): fc.Arbitrary<Statement> =>
  fc.record({ does: fc.constant("op" as const), op: fc.constantFrom(...ops), x: place, y: place });
const matrices = ops.filter(({ from }) => from === "matrix");

const { statements } = fc.letrec<{ statements: Statement[]; statement: Statement }>((tie) => ({
  statements: fc.array(tie("statement"), { minLength: 1, maxLength: 16, depthIdentifier: "nesting" }),
  statement: fc.oneof(
    { depthIdentifier: "nesting", maxDepth: 3 },
    { arbitrary: opOf(matrices), weight: 24 },
    { arbitrary: opOf(ops.filter((op) => !isElementwise(op))), weight: 24 },
    { arbitrary: opOf(ops.filter(isElementwise)), weight: 24 },
    { arbitrary: opOf(opsWithoutGradient), weight: 1 },
    { arbitrary: fc.record({ does: fc.constantFrom("dispose", "read", "keep"), kind, x: place }), weight: 5 },
    { arbitrary: fc.record({ does: fc.constant("failInBackward" as const), kind, x: place }), weight: 1 },
    { arbitrary: fc.record({ does: fc.constant("assign" as const), x: place }), weight: 2 },
    { arbitrary: fc.record({ does: fc.constant("fail" as const), step: fc.nat(2) }), weight: 1 },
    {
      arbitrary: fc.record({
        does: fc.constantFrom<Nested[]>("tidy", "block", "block", "grad", "customGrad"),
        kind,
        x: place,
        statements: tie("statements"),
      }),
      weight: 6,
    },
  ),
}));

/** Programs that train in up to three steps, whose batches may differ. */
export const programs: fc.Arbitrary<Program> = fc.record({
  batches: fc.array(fc.constantFrom(2, 3, 4), { minLength: 1, maxLength: 3 }),
  optimizer: fc.constantFrom(...optimizers),
  update: fc.constantFrom<Update[]>("minimize", "variableGrads", "valueAndGrads"),
  statements,
});
