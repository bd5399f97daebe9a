import { RematError } from "@remat/trace";

/** A node of a compiled graph, as torch.fx has it. */
export interface FxNode {
  readonly name: string;
  readonly kind: "placeholder" | "attribute" | "compute" | "output";
  /** Names of nodes before it. */
  readonly inputs: readonly string[];
  /** Places of the storages that its results lie on. */
  readonly outputs: readonly number[];
}

/** What `torch.compile` made of a model: pairs of a forward graph and its backward graph, if it has one, over one table of storages. */
export interface FxGraphs {
  readonly name: string;
  readonly storages: readonly { readonly bytes: number; readonly device: string }[];
  readonly graphs: readonly { readonly forward: readonly FxNode[]; readonly backward: readonly FxNode[] | undefined }[];
}

/** The schema of what `remat.export_graphs` writes. */
export const fxGraphsSchema = "fx-graphs/1";

const kindOfOp: Readonly<Record<string, FxNode["kind"]>> = {
  placeholder: "placeholder",
  get_attr: "attribute",
  call_function: "compute",
  call_module: "compute",
  call_method: "compute",
  output: "output",
};

/**
 * Returns the graphs in a file that `remat.export_graphs` wrote, from its parsed JSON.
 *
 * @throws RematError `FX_GRAPHS`, which says what is wrong with it
 * @example
 * const { graphs } = readFxGraphs(JSON.parse(await readFile("graphs.json", "utf8")));
 */
export function readFxGraphs(value: unknown): FxGraphs {
  const file = asFields(value, "the file");
  if (file["schema"] !== fxGraphsSchema)
    throw damaged(`expected schema ${fxGraphsSchema}, found ${JSON.stringify(file["schema"]) ?? "none"}`);
  const storages = asItems(file["storages"], "storages").map((item, i) => {
    const [bytes, device] = asItems(item, `storage ${i}`);
    if (!(typeof bytes === "number" && bytes >= 0 && Number.isFinite(bytes)) || typeof device !== "string")
      throw damaged(`storage ${i}: expected bytes and a device, found ${JSON.stringify(item)}`);
    return { bytes, device };
  });
  const graphs = asItems(file["graphs"], "graphs").map((item, g) => {
    const { forward, backward } = asFields(item, `graph ${g}`);
    return {
      forward: readNodes(forward, `forward graph ${g}`),
      backward: backward === null || backward === undefined ? undefined : readNodes(backward, `backward graph ${g}`),
    };
  });
  if (graphs.length === 0) throw damaged("it holds no graph");
  return { name: typeof file["name"] === "string" ? file["name"] : "graph", storages, graphs };
}

function readNodes(value: unknown, where: string): FxNode[] {
  return asItems(value, where).map((item, n) => {
    const node = asFields(item, `node ${n} of ${where}`);
    const kind = kindOfOp[String(node["op"])];
    if (kind === undefined) throw damaged(`node ${n} of ${where}: unknown op ${JSON.stringify(node["op"])}`);
    if (typeof node["n"] !== "string") throw damaged(`node ${n} of ${where}: expected a name as 'n'`);
    return {
      name: node["n"],
      kind,
      inputs: asItems(node["in"], `inputs of node ${n} of ${where}`).map(String),
      outputs: asItems(node["out"], `outputs of node ${n} of ${where}`).map(Number),
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
  return new RematError("FX_GRAPHS", `compiled graphs of PyTorch: ${found}. Write them again by remat.export_graphs.`);
}
