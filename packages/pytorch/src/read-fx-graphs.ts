import { itemAt, RematError } from "@remat/trace";

/** A node of a compiled graph, as in torch.fx. */
export interface FxNode {
  readonly name: string;
  readonly kind: "placeholder" | "attribute" | "compute" | "output";
  /** Names of earlier nodes. */
  readonly inputs: readonly string[];
  /** The storages of its results, by position. */
  readonly outputs: readonly number[];
  /** True for a placeholder whose tensor stays the same from step to step, such as a weight or a buffer. */
  readonly isStatic?: true;
  /** The bytes that its results span, if they are views that span less than their storages. */
  readonly bytes?: number;
  /** The FLOPs as counted by `torch.utils.flop_counter`. Left out if it does not count them. */
  readonly flops?: number;
  /** The dtype of the result. Left out if the FLOPs are not counted. */
  readonly dtype?: string;
  /** True if the partitioner expects the op to be fused with the ops that create or read its tensors. */
  readonly isFusible?: true;
}

/** A forward graph and its backward graph, if it has one. */
export interface FxGraphPair {
  readonly forward: readonly FxNode[];
  readonly backward: readonly FxNode[] | undefined;
}

/**
 * The graphs for one value of `torch._functorch.config.activation_memory_budget`, or undefined if the file does not
 * have it.
 */
export interface FxPartition {
  readonly budget: number | undefined;
  readonly graphs: readonly FxGraphPair[];
}

/** The graphs of a model under `torch.compile`: pairs of graphs that share one table of storages. */
export interface FxGraphs {
  readonly name: string;
  readonly storages: readonly { readonly bytes: number; readonly device: string }[];
  /** The storages that the model returned, or undefined if the file does not have them. */
  readonly results: readonly number[] | undefined;
  /** The storages of gradients that are added to existing gradients, or undefined if the file does not have them. */
  readonly added: readonly number[] | undefined;
  /** The graphs of the first partition. */
  readonly graphs: readonly FxGraphPair[];
  /** The partitions by falling budget. */
  readonly partitions: readonly FxPartition[];
}

/** The current and earlier schemas of `remat.export_graphs`. */
const fxGraphsSchemas = ["fx-graphs/2", "fx-graphs/1"] as const;

const kindOfOp: Readonly<Record<string, FxNode["kind"]>> = {
  placeholder: "placeholder",
  get_attr: "attribute",
  call_function: "compute",
  call_module: "compute",
  call_method: "compute",
  output: "output",
};

/**
 * Returns the graphs in a file of `remat.export_graphs`, from its parsed JSON.
 *
 * @throws RematError `FX_GRAPHS`, with the reason
 * @example
 * const { graphs } = readFxGraphs(JSON.parse(await readFile("graphs.json", "utf8")));
 */
export function readFxGraphs(value: unknown): FxGraphs {
  const file = asFields(value, "the file");
  const { schema } = file;
  if (!fxGraphsSchemas.some((known) => known === schema))
    throw damaged(`expected schema ${fxGraphsSchemas[0]}, found ${JSON.stringify(schema) ?? "none"}`);
  const storages = asItems(file["storages"], "storages").map((item, i) => {
    const [bytes, device] = asItems(item, `storage ${i}`);
    if (!(typeof bytes === "number" && bytes >= 0 && Number.isFinite(bytes)) || typeof device !== "string")
      throw damaged(`storage ${i}: expected bytes and a device, found ${JSON.stringify(item)}`);
    return { bytes, device };
  });
  const partitions =
    schema === "fx-graphs/1"
      ? [{ budget: undefined, graphs: readPairs(file["graphs"], "graphs") }]
      : readPartitions(file["partitions"]);
  return {
    name: typeof file["name"] === "string" ? file["name"] : "graph",
    storages,
    results: readPlaces(file["results"], "results", storages.length),
    added: readPlaces(file["added"], "added", storages.length),
    graphs: itemAt(partitions, 0).graphs,
    partitions,
  };
}

function readPlaces(value: unknown, where: string, storageCount: number): number[] | undefined {
  if (value === undefined) return undefined;
  return asItems(value, where).map((storage, i) => {
    if (!(Number.isInteger(storage) && (storage as number) >= 0 && (storage as number) < storageCount))
      throw damaged(
        `item ${i} of ${where}: expected one of ${storageCount} storages, found ${JSON.stringify(storage)}`,
      );
    return storage as number;
  });
}

function readPartitions(value: unknown): FxPartition[] {
  const partitions = asItems(value, "partitions").map((item, i) => {
    const { budget, graphs } = asFields(item, `partition ${i}`);
    if (!(typeof budget === "number" && budget >= 0 && budget <= 1))
      throw damaged(`partition ${i}: expected a 'budget' from 0 to 1, found ${JSON.stringify(budget) ?? "none"}`);
    return { budget, graphs: readPairs(graphs, `graphs of partition ${i}`) };
  });
  const [first] = partitions;
  if (first === undefined) throw damaged("it has no partition");
  const { length: count } = first.graphs;
  for (const [i, { graphs }] of partitions.entries())
    if (graphs.length !== count)
      throw damaged(`partition ${i}: expected ${count} graphs like the first, found ${graphs.length}`);
  return partitions.sort((a, b) => b.budget - a.budget);
}

function readPairs(value: unknown, where: string): FxGraphPair[] {
  const pairs = asItems(value, where).map((item, g) => {
    const graph = where === "graphs" ? `graph ${g}` : `graph ${g} of ${where.replace(/^graphs of /, "")}`;
    const { forward, backward } = asFields(item, graph);
    return {
      forward: readNodes(forward, `forward ${graph}`),
      backward: backward === null || backward === undefined ? undefined : readNodes(backward, `backward ${graph}`),
    };
  });
  if (pairs.length === 0) throw damaged(where === "graphs" ? "it has no graph" : `${where}: there is none`);
  return pairs;
}

function readNodes(value: unknown, where: string): FxNode[] {
  return asItems(value, where).map((item, n) => {
    const node = asFields(item, `node ${n} of ${where}`);
    const kind = kindOfOp[String(node["op"])];
    if (kind === undefined) throw damaged(`node ${n} of ${where}: unknown op ${JSON.stringify(node["op"])}`);
    if (typeof node["n"] !== "string") throw damaged(`node ${n} of ${where}: expected a name as 'n'`);
    const { static: isStatic, fusible, bytes, flops, dtype } = node;
    for (const [field, count] of Object.entries({ bytes, flops }))
      if (count !== undefined && !(typeof count === "number" && count >= 0 && Number.isFinite(count)))
        throw damaged(`node ${n} of ${where}: expected '${field}' of at least 0, found ${JSON.stringify(count)}`);
    if (dtype !== undefined && typeof dtype !== "string")
      throw damaged(`node ${n} of ${where}: expected a name as 'dtype', found ${JSON.stringify(dtype)}`);
    return {
      name: node["n"],
      kind,
      inputs: asItems(node["in"], `inputs of node ${n} of ${where}`).map(String),
      outputs: asItems(node["out"], `outputs of node ${n} of ${where}`).map(Number),
      ...(isStatic === true && { isStatic }),
      ...(fusible === true && { isFusible: fusible }),
      ...(bytes !== undefined && { bytes: bytes as number }),
      ...(flops !== undefined && { flops: flops as number }),
      ...(dtype !== undefined && { dtype }),
    };
  });
}

function asFields(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw damaged(`${what}: expected an object`);
  return value as Readonly<Record<string, unknown>>;
}

function asItems(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw damaged(`${what}: expected a list, found ${value === null ? "null" : typeof value}`);
  return value;
}

function damaged(found: string): RematError {
  return new RematError(
    "FX_GRAPHS",
    `compiled graphs of PyTorch: ${found}. Write them again with remat.export_graphs.`,
  );
}
