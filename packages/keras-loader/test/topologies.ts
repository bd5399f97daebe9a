import { readFileSync } from "node:fs";

/** The text of one of the topologies that a user brings. */
export function topologyText(name: string): string {
  return readFileSync(new URL(`../../../examples/keras/${name}.model.json`, import.meta.url), "utf8");
}

/** A functional model of Keras 2 in the fewest words: `[name, class, config, inputs]` per layer, the last one being the output. */
export function smallModel(...layers: [string, string, object, (string | unknown[])[]?][]): {
  modelTopology: {
    class_name: string;
    config: { name: string; layers: unknown[]; input_layers: unknown; output_layers: unknown };
  };
} {
  const entries = layers.map(([name, class_name, config, inputs = []]) => ({
    class_name,
    name,
    config: { name, ...config },
    inbound_nodes:
      inputs.length === 0 ? [] : [inputs.map((from) => (typeof from === "string" ? [from, 0, 0, {}] : from))],
  }));
  const last = layers.at(-1)?.[0];
  return {
    modelTopology: {
      class_name: "Functional",
      config: { name: "small", layers: entries, input_layers: [[layers[0]?.[0], 0, 0]], output_layers: [[last, 0, 0]] },
    },
  };
}
