import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { ModTracker, watchRunningLayers } from "../src/index.js";

beforeAll(() => tf.setBackend("cpu"));

/** A tracker, and which modules it enters and leaves. */
function logged(): { readonly tracker: ModTracker; readonly log: string[] } {
  const tracker = new ModTracker();
  const log: string[] = [];
  tracker.registerUserHooks({
    preForward: ({ fqn, kind }) => log.push(`+ ${fqn} ${kind}`),
    postForward: ({ fqn }) => log.push(`- ${fqn}`),
  });
  return { tracker, log };
}

describe("moveTo", () => {
  it("leaves what is open and enters what is wanted, within the scope that runs", () => {
    const { tracker, log } = logged();
    tracker.run(() => {
      tracker.moveTo(["outside"]);
      tracker.scope("graph", () => {
        for (const name of ["Conv2D", "Relu"]) tracker.moveTo(["block", name], name);
        tracker.scope("inner", () => tracker.moveTo(["a"]));
        tracker.moveTo(["Softmax"]);
      });
    });
    expect(log).toEqual([
      "+ graph Scope",
      "+ graph.block Scope",
      "+ graph.block.Conv2D Conv2D",
      "- graph.block.Conv2D",
      "+ graph.block.Relu Relu",
      "+ graph.block.Relu.inner Scope",
      "+ graph.block.Relu.inner.a Scope",
      "- graph.block.Relu.inner.a",
      "- graph.block.Relu.inner",
      "- graph.block.Relu",
      "- graph.block",
      "+ graph.Softmax Scope",
      "- graph.Softmax",
      "- graph",
    ]);
  });

  it("whatever the paths, and where the scope is awaited or fails, has open what was said last, and nothing in the end", async () => {
    const paths = fc.array(fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 3 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(paths, fc.boolean(), async (all, fails) => {
        const { tracker } = logged();
        const run = tracker.run(async () =>
          tracker.scope("graph", async () => {
            for (const path of all) {
              await Promise.resolve();
              tracker.moveTo(path);
              const wanted = path.map((_, i) => ["graph", ...path.slice(0, i + 1)].join("."));
              expect([...tracker.parents].sort()).toEqual(["Global", "graph", ...wanted].sort());
            }
            if (fails) throw new Error("on purpose");
          }),
        );
        await (fails ? expect(run).rejects.toThrow("on purpose") : run);
        expect([...tracker.parents]).toEqual(["Global"]);
      }),
    );
  });
});

describe("watchRunningLayers", () => {
  it("names the layers that run, one inside the other, and none while a graph is built or afterwards", () => {
    const seen: (string | undefined)[] = [];
    const running = watchRunningLayers();
    class Looking extends tf.layers.Layer {
      static className = "Looking";
      override computeOutputShape(shape: tf.Shape): tf.Shape {
        return shape;
      }
      override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
        seen.push(running.path);
        return [inputs].flat()[0].mul(2);
      }
    }
    const inner = tf.sequential({ name: "inner", layers: [new Looking({ name: "deep", inputShape: [2] })] });
    const model = tf.sequential({ name: "outer", layers: [new Looking({ name: "first", inputShape: [2] }), inner] });
    tf.tidy(() => model.predict(tf.ones([1, 2])));
    expect(seen.map((path) => path?.split(".").at(-1))).toEqual(["first", "deep"]);
    expect(seen[1]).toMatch(/inner/);
    expect(running.path).toBeUndefined();
    const { apply } = tf.layers.Layer.prototype;
    running.close();
    expect(tf.layers.Layer.prototype.apply).not.toBe(apply);
  });
});
