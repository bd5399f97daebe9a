import { Category, Phase, RuntimeSource, type Trace, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { evilNames } from "./traces.js";

interface RandomOp {
  readonly module: number;
  readonly name: string;
  readonly kilobytes: number;
  readonly ms: number;
  readonly category: number;
  readonly isBackward: boolean;
  /** `frees`: the storage of the previous op is freed. `saves`: it is saved for the backward pass. */
  readonly frees: boolean;
  readonly saves: boolean;
}

const names = fc.constantFrom("MatMul", "Relu", "Add", ...evilNames);

/** Small steps of all kinds: without ops or modules, nested, with backward passes or none, timed or not, with names that a terminal would obey. */
export const randomTrace: fc.Arbitrary<Trace> = fc
  .record({
    parents: fc.array(fc.record({ parent: fc.nat(7), name: names }), { maxLength: 8 }),
    ops: fc.array(
      fc.record<RandomOp>({
        module: fc.nat(7),
        name: names,
        kilobytes: fc.nat(9),
        ms: fc.double({ min: 0, max: 5, noNaN: true }),
        category: fc.constantFrom(Category.activation, Category.gradient, Category.parameter, Category.other),
        isBackward: fc.boolean(),
        frees: fc.boolean(),
        saves: fc.boolean(),
      }),
      { maxLength: 80, size: "large" },
    ),
    isMeasured: fc.boolean(),
    title: names,
  })
  .map(({ parents, ops, isMeasured, title }) => {
    const b = new TraceBuilder({
      framework: "tfjs",
      device: "cpu",
      mode: isMeasured ? "real" : "fake",
      allocationUnitBytes: 1,
      model: title,
    });
    const fqns: string[] = [];
    const calls: number[] = [];
    for (const [i, { parent, name }] of parents.entries()) {
      const at = i === 0 || parent >= i ? -1 : parent;
      fqns.push(`${at < 0 ? "" : `${fqns[at]}.`}${name}${i}`);
      calls.push(b.call(b.module({ fqn: fqns[i], kind: name, leaf: false }), at < 0 ? -1 : calls[at], true));
    }
    const inOrder = [...ops.filter((op) => !op.isBackward), ...ops.filter((op) => op.isBackward)];
    let last = -1;
    for (const { module, name, kilobytes, ms, category, isBackward, frees, saves } of inOrder) {
      const storage = b.allocate(1000 * kilobytes, "cpu", category);
      const output = b.tensor({ storage, dtype: "float32", shape: [kilobytes, 250] });
      const op = b.op({
        name,
        phase: isBackward ? Phase.backward : Phase.forward,
        stack: calls.length === 0 ? 0 : b.stackOfCall(calls[module % calls.length]),
        inputs: last < 0 ? [] : [output - 1],
        outputs: [output],
        ...(isMeasured && { runtimeMs: ms, runtimeSource: RuntimeSource.measured }),
      });
      if (saves && !isBackward) b.save(storage, op);
      if (frees && last >= 0) b.free(last);
      last = storage;
    }
    return b.build();
  });
