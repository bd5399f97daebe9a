import { checkedShare } from "@remat/testkit/checked-share";
import { phaseNames } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { beforeEach, expect, test } from "vitest";
import { type DispatchMode, forEachInput, type OpCall, type OpDone, withDispatchMode } from "../src/index.js";
import { evictData, replayKernel } from "../src/residency/index.js";
import { programs, runProgram } from "./programs.js";

beforeEach(async () => {
  await tf.setBackend("cpu");
});

/** A mode that logs ops and keeps their objects. */
function opLog(looksInPassing: boolean) {
  const lines: string[] = [];
  const objects = new Set<OpCall>();
  const first: { sequence?: number } = {};
  const note = (what: string, { kernel, inputs, inputTensors, phase, attributes, sequence }: OpCall) => {
    first.sequence ??= sequence;
    const seen: tf.Tensor[] = [];
    forEachInput(inputs, (tensor) => seen.push(tensor));
    expect(seen).toEqual([...inputTensors]);
    const shapes = inputTensors.map(({ shape }) => `[${shape}]`).join(" ");
    lines.push(
      `${what} ${sequence - first.sequence} ${phaseNames[phase]} ${kernel} ${shapes} ${JSON.stringify(attributes)}`,
    );
  };
  const noteDone = (what: string, op: OpDone) => {
    note(what, op);
    lines.push(op.outputs.map(({ shape, dtype }) => `${dtype} ${shape}`).join());
  };
  const mode: DispatchMode = {
    looksInPassing,
    opStarting: (op) => {
      objects.add(op);
      note("starts", op);
    },
    opDone: (op) => noteDone("done", op),
    opOver: (op) => noteDone("over", op),
  };
  return { lines, objects, mode };
}

test("a mode that looks at ops in passing is told of them what any other is", () => {
  const given = checkedShare();
  fc.assert(
    fc.property(programs, (program) => {
      const kept = opLog(false);
      const passed = opLog(true);
      const stock = runProgram(program);
      expect(runProgram(program, (step) => withDispatchMode(kept.mode, step))).toEqual(stock);
      expect(runProgram(program, (step) => withDispatchMode(passed.mode, step))).toEqual(stock);
      expect(passed.lines).toEqual(kept.lines);
      // They are for one after the other; that of an op in an op is another.
      if (given(passed.lines.length > 0)) expect(passed.objects.size).toBe(1);
      expect(kept.objects.size).toBe(kept.lines.filter((line) => line.startsWith("starts")).length);
    }),
    { numRuns: 60 },
  );
});

test("as long as somebody may keep ops, or looks at the tape, each has an object of its own", () => {
  const w = tf.variable(tf.ones([2, 2]));
  const step = () => tf.dispose(tf.variableGrads(() => tf.sum(tf.square(w)) as tf.Scalar, [w]) as never);
  for (const other of [{ opDone() {} }, { tapeNodeAdded() {} }, { backwardNodeEntered() {} }, { tensorsSaved() {} }]) {
    const passed = opLog(true);
    withDispatchMode(passed.mode, () => {
      withDispatchMode(other, step);
      expect(passed.objects.size).toBeGreaterThan(2);
      const before = passed.objects.size;
      step();
      expect(passed.objects.size).toBe(before + 1);
    });
  }
  w.dispose();
});

test("an op that is replayed while another is told of does not become that one", () => {
  const x = tf.tensor1d([1, 2, 3]);
  const squared = tf.square(x);
  const told: string[] = [];
  const look = (op: OpDone) => told.push(`${op.kernel} of ${op.inputTensors.length}, ${op.outputs.length} made`);
  withDispatchMode({ looksInPassing: true, opOver: look }, () =>
    withDispatchMode(
      {
        looksInPassing: true,
        opDone(op) {
          if (op.kernel !== "Add") return;
          evictData([squared.dataId]);
          replayKernel({ kernel: "Square", inputs: { x }, attributes: {} }, [squared.dataId]);
          look(op);
        },
        opOver: look,
      },
      () => tf.add(x, x).dispose(),
    ),
  );
  expect(told.slice(-3)).toEqual(["Add of 2, 1 made", "Add of 2, 1 made", "Add of 2, 1 made"]);
  expect(told.filter((line) => line.startsWith("Square"))).toHaveLength(2);
  expect([...squared.dataSync()]).toEqual([1, 4, 9]);
  tf.dispose([x, squared]);
});
