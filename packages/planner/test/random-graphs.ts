import fc from "fast-check";
import { type PlanningGraph, type PlanningNode, planningGraph } from "../src/graph/planning-graph.js";

/** Graphs with several outputs per node, results, workspaces, sources that cannot be recomputed, and unread values. */
export function randomGraphs(maxNodes: number): fc.Arbitrary<PlanningGraph> {
  return fc
    .tuple(
      fc.array(
        fc.record({
          cost: fc.nat(9),
          outputBytes: fc.array(fc.nat(9), { minLength: 1, maxLength: 2 }),
          inputs: fc.array(fc.tuple(fc.nat(100), fc.nat(1)), { maxLength: 3 }),
          workspaceBytes: fc.oneof(fc.constant(0), fc.nat(5)),
          recomputable: fc.oneof(
            { weight: 5, arbitrary: fc.constant(true) },
            { weight: 1, arbitrary: fc.constant(false) },
          ),
          isResult: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
        }),
        { minLength: 1, maxLength: maxNodes },
      ),
      fc.nat(5),
    )
    .map(([specs, baseBytes]) =>
      planningGraph(
        specs.map(
          (spec, v): PlanningNode => ({
            name: `n${v}`,
            cost: spec.cost,
            outputBytes: spec.outputBytes,
            inputs:
              v === 0
                ? []
                : spec.inputs.map(([from, k]) => {
                    const node = from % v;
                    return [node, k % specs[node].outputBytes.length];
                  }),
            workspaceBytes: spec.workspaceBytes,
            recomputable: spec.recomputable,
            results: spec.isResult ? [0] : [],
          }),
        ),
        baseBytes,
      ),
    );
}

/**
 * Graphs of a forward and a backward pass. Each layer reads the previous one, and its backward pass reads the gradient
 * and the layer's input. Sizes and costs are random.
 */
export const trainingGraphs: fc.Arbitrary<PlanningGraph> = fc
  .array(fc.record({ cost: fc.integer({ min: 1, max: 9 }), bytes: fc.integer({ min: 1, max: 9 }) }), {
    minLength: 5,
    maxLength: 12,
  })
  .map((layers) => {
    const count = layers.length;
    const forward = layers.map(({ cost, bytes }, l) => ({
      name: `f${l}`,
      cost,
      outputBytes: [bytes],
      inputs: l === 0 ? [] : [[l - 1, 0] as const],
    }));
    const backward = layers.map((_, i) => {
      const l = count - 1 - i;
      return {
        name: `b${l}`,
        cost: layers[l].cost,
        outputBytes: [layers[l].bytes],
        inputs: [[count + i - 1, 0] as const, ...(l === 0 ? [] : [[l - 1, 0] as const])],
      };
    });
    return planningGraph([...forward, ...backward]);
  });

/** Graphs of layers whose nodes read nodes of the layer before, and some of earlier layers. */
export function layeredGraphs(minNodes: number, maxNodes: number): fc.Arbitrary<PlanningGraph> {
  return fc
    .record({
      width: fc.integer({ min: 2, max: 8 }),
      nodes: fc.array(
        fc.record({
          cost: fc.integer({ min: 1, max: 99 }),
          bytes: fc.integer({ min: 1, max: 99 }),
          near: fc.array(fc.nat(7), { minLength: 1, maxLength: 3 }),
          far: fc.option(fc.nat(1000), { freq: 4 }),
        }),
        { minLength: minNodes, maxLength: maxNodes },
      ),
    })
    .map(({ width, nodes }) =>
      planningGraph(
        nodes.map(({ cost, bytes, near, far }, v): PlanningNode => {
          const layer = Math.floor(v / width) * width;
          const read = layer === 0 ? [] : near.map((place) => layer - width + (place % width));
          if (layer > 0 && typeof far === "number") read.push(far % layer);
          const inputs = [...new Set(read)].map((node) => [node, 0] as const);
          return { name: `n${v}`, cost, outputBytes: [bytes], inputs };
        }),
      ),
    );
}

/** Every DAG of `nodes` nodes in topological order, its bytes and costs drawn from its number. */
export function allGraphs(nodes: number): PlanningGraph[] {
  const pairs: [number, number][] = [];
  for (let to = 1; to < nodes; to++) for (let from = 0; from < to; from++) pairs.push([from, to]);
  return Array.from({ length: 2 ** pairs.length }, (_, mask) => graphOfMask(nodes, pairs, mask));
}

/** `count` of the DAGs of `nodes` nodes, spread evenly. */
export function someGraphs(nodes: number, count: number): PlanningGraph[] {
  const pairs: [number, number][] = [];
  for (let to = 1; to < nodes; to++) for (let from = 0; from < to; from++) pairs.push([from, to]);
  // A stride that is odd, and no part of the number of graphs, meets all patterns of edges.
  const stride = Math.floor(2 ** pairs.length / count) | 1;
  return Array.from({ length: count }, (_, i) => graphOfMask(nodes, pairs, (i * stride * 7) % 2 ** pairs.length));
}

function graphOfMask(nodes: number, pairs: readonly [number, number][], mask: number): PlanningGraph {
  let state = (mask + 1) * 2_654_435_761;
  const draw = (count: number) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x297a2d39) >>> 0;
    return (state >>> 8) % count;
  };
  return planningGraph(
    Array.from({ length: nodes }, (_, v) => ({
      name: `n${v}`,
      cost: draw(6),
      outputBytes: [1 + draw(8)],
      inputs: pairs.flatMap(([from, to], i) => (to === v && (mask >> i) % 2 === 1 ? [[from, 0] as const] : [])),
    })),
  );
}
