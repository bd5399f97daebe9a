import type { GraphModel } from "@tensorflow/tfjs-converter";

/** A node of a loaded graph, as in tfjs-converter. */
export interface GraphNode {
  readonly name: string;
  readonly op: string;
  readonly children: readonly GraphNode[];
}

interface Graph {
  readonly nodes: Readonly<Record<string, GraphNode>>;
  readonly functions?: Readonly<Record<string, Graph>>;
}

/** The executor of tfjs-converter, which is missing from the package's types. */
interface Executor {
  readonly graph: Graph;
  readonly _outputs: readonly GraphNode[];
  compile(inputs: Readonly<Record<string, unknown>>, outputs: readonly GraphNode[]): unknown;
}

/** The parts of a graph model that are used. */
export type LoadedGraph = Pick<GraphModel, "inputs" | "weights" | "outputNodes" | "execute" | "executeAsync">;

const executorOf = (model: LoadedGraph): Executor => (model as unknown as { executor: Executor }).executor;

/** A node that is about to run. */
export interface RunningNode {
  /** The node of the top-level graph. For the body of a loop or conditional, it is the loop or conditional itself. */
  readonly node: GraphNode;
  readonly op: string;
  /** Its scopes, outermost first. */
  readonly path: readonly string[];
}

/** A node that returns its input under another name. */
const isAlias = ({ op }: GraphNode): boolean => op === "Identity" || op === "ReadVariableOp";

/** Ops that tfjs-converter executes asynchronously although it does not list them as dynamic. */
const awaited = /^(?:Stateless)?(?:If|While)$|^(?:Mutable)?HashTable|^LookupTable/;

/**
 * The nodes of a graph model by scopes, which are the parts of a node's name. A scope around all computing nodes, such
 * as `StatefulPartitionedCall`, is left out.
 */
export class GraphNodes {
  private readonly executor: Executor;
  private readonly common: number;

  constructor(model: LoadedGraph) {
    this.executor = executorOf(model);
    const paths = Object.values(this.executor.graph.nodes)
      .filter((node) => !isAlias(node) && !["Const", "Placeholder", "NoOp"].includes(node.op))
      .map(({ name }) => name.split("/"));
    this.common = commonLength(paths);
  }

  /** Returns whether execution is asynchronous, because some ops make decisions or read values. */
  needsAwait(inputs: Readonly<Record<string, unknown>>): boolean {
    if (Object.values(this.executor.graph.nodes).some(({ op }) => awaited.test(op))) return true;
    try {
      this.executor.compile(inputs, this.executor._outputs);
      return false;
    } catch (error) {
      if (/has the dynamic op/.test((error as Error).message)) return true;
      throw error;
    }
  }

  /** Returns the scopes of a node, the innermost being the node itself. Dots in names are replaced. */
  pathOf({ name }: Pick<GraphNode, "name">): readonly string[] {
    return name.split("/").slice(this.common).map(withoutDots);
  }

  /** Returns the scopes of a weight: those of the first node that uses it. */
  pathOfWeight(name: string): readonly string[] {
    let node: GraphNode | undefined = this.executor.graph.nodes[name]?.children[0];
    while (node !== undefined && isAlias(node) && node.children.length > 0) node = node.children[0];
    return node === undefined ? [] : this.pathOf(node);
  }

  /** Calls `coming` before each node runs. At that moment tfjs-converter looks up the category of the node's op. */
  watch(coming: (node: RunningNode) => void): void {
    let outer: GraphNode | undefined;
    const watchAll = ({ nodes, functions }: Graph, isFunction: boolean): void => {
      for (const node of Object.values(nodes)) {
        const { category } = node as GraphNode & { readonly category: string };
        const get = (): string => {
          if (!isFunction) outer = node;
          const own = node.name.split("/").map(withoutDots);
          const path = isFunction && outer !== undefined ? [...this.pathOf(outer), ...own] : this.pathOf(node);
          coming({ node: outer ?? node, op: node.op, path });
          return category;
        };
        Object.defineProperty(node, "category", { configurable: true, enumerable: true, get });
      }
      for (const inner of Object.values(functions ?? {})) watchAll(inner, true);
    };
    watchAll(this.executor.graph, false);
  }
}

const withoutDots = (part: string): string => part.replaceAll(".", "_") || "_";

/** Number of leading parts that all paths share, not counting the last part. */
function commonLength(paths: readonly (readonly string[])[]): number {
  const [first = []] = paths;
  let length = 0;
  while (length < first.length - 1 && paths.every((path) => path.length - 1 > length && path[length] === first[length]))
    length++;
  return length;
}
