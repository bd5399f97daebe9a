import { readFileSync } from "node:fs";
import * as tf from "@tensorflow/tfjs";
import type { GraphCall } from "../src/execution-order.js";

/** A functional model with a layer that it calls twice and a Sequential in it. */
export function nestedModel(): tf.LayersModel {
  const head = tf.sequential({ name: "head", layers: [tf.layers.dense({ name: "out", units: 1, inputShape: [4] })] });
  const input = tf.input({ shape: [2], name: "input" });
  const shared = tf.layers.dense({ name: "shared", units: 4 });
  const a = shared.apply(input) as tf.SymbolicTensor;
  const b = tf.layers.activation({ name: "act", activation: "relu" }).apply(a) as tf.SymbolicTensor;
  const widened = tf.layers.dense({ name: "widen", units: 2 }).apply(b) as tf.SymbolicTensor;
  const again = shared.apply(widened) as tf.SymbolicTensor;
  const sum = tf.layers.add({ name: "sum" }).apply([a, again]) as tf.SymbolicTensor;
  return tf.model({ name: "net", inputs: input, outputs: head.apply(sum) as tf.SymbolicTensor });
}

/** Two residual blocks of which the branches' layers come in an order of their own, and a chain behind; by the given names. */
export function residualModel(name: (block: number, layer: string) => string): tf.LayersModel {
  const input = tf.input({ shape: [4], name: "input" });
  const dense = (layerName: string, x: tf.SymbolicTensor) =>
    tf.layers.dense({ name: layerName, units: 4 }).apply(x) as tf.SymbolicTensor;
  let x = input;
  for (const block of [1, 2]) {
    const main = dense(name(block, "b"), dense(name(block, "a"), x));
    const side = dense(name(block, "side"), x);
    x = tf.layers.add({ name: name(block, "add") }).apply([side, main]) as tf.SymbolicTensor;
  }
  x = dense(name(3, "dense"), x);
  x = tf.layers.batchNormalization({ name: name(3, "bn") }).apply(x) as tf.SymbolicTensor;
  x = tf.layers.activation({ name: name(3, "relu"), activation: "relu" }).apply(x) as tf.SymbolicTensor;
  return tf.model({ name: "residual", inputs: input, outputs: dense(name(4, "last"), x) });
}

interface KerasLayer {
  class_name: string;
  name: string;
  inbound_nodes: [string, number, number, object][][];
}

/** The calls of a Keras file's model, without building it: tfjs-layers refuses some. In the executor's order. */
export function kerasCalls(file: string): GraphCall[] {
  const path = new URL(`../../../examples/keras/${file}.model.json`, import.meta.url);
  const json = JSON.parse(readFileSync(path, "utf8"));
  const model = json.modelTopology ?? json;
  const topology = model.model_config ?? model;
  const { layers, output_layers } = (typeof topology === "string" ? JSON.parse(topology) : topology).config;
  const byName = new Map<string, KerasLayer>(layers.map((layer: KerasLayer) => [layer.name, layer]));
  const calls: GraphCall[] = [];
  const outputs = new Map<string, GraphCall["output"]>();
  const visit = (name: string): GraphCall["output"] => {
    const known = outputs.get(name);
    if (known !== undefined) return known;
    const layer = byName.get(name) as KerasLayer;
    const inbound = (layer.inbound_nodes[0] ?? []).map(([from]) => from);
    const inputs = new Map([...inbound].reverse().map((from) => [from, visit(from)]));
    const source = {
      name,
      getClassName: () => layer.class_name,
      _trainableWeights: /Conv|Dense/.test(layer.class_name) ? [{ read: () => ({ rank: 4 }) }] : [],
    };
    const output = { id: calls.length, name, sourceLayer: source, inputs: inbound.map((from) => inputs.get(from)) };
    outputs.set(name, output as never);
    if (layer.class_name !== "InputLayer") calls.push({ layer: source as never, output: output as never });
    return output as never;
  };
  for (const [name] of output_layers) visit(name);
  return calls;
}
