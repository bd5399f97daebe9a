import Module from "node:module";
import type { converterLoaded, enginePackages, layersLoaded, startAgent } from "../agent/agent.js";
import type { ProgramIo } from "../outside/program-io.js";
import type { GivenOrder } from "../program-order.js";

/** Node's CommonJS loader, which also handles the `import` of a CommonJS module. Only the patched part is declared. */
interface CommonJs {
  _load(request: string, parent: { readonly filename?: string } | null | undefined, isMain: boolean): unknown;
}

interface Agent {
  readonly startAgent: typeof startAgent;
  readonly layersLoaded: typeof layersLoaded;
  readonly converterLoaded: typeof converterLoaded;
  readonly enginePackages: typeof enginePackages;
}

const core = "@tensorflow/tfjs-core";
const layers = "@tensorflow/tfjs-layers";

const has = (exports: unknown, names: readonly string[], kind: string): exports is Readonly<Record<string, unknown>> =>
  typeof exports === "object" &&
  exports !== null &&
  names.every((name) => typeof (exports as Record<string, unknown>)[name] === kind);

/** Also matches the bundles that tfjs ships, which contain all of tfjs-core and tfjs-layers. */
const isCore = (exports: unknown): exports is object =>
  has(exports, ["engine"], "function") && has(exports, ["version_core"], "string");
const isLayers = (exports: unknown): exports is object =>
  has(exports, ["LayersModel", "Sequential"], "function") && has(exports, ["layers"], "object");

const isConverter = (exports: unknown): exports is { readonly GraphModel: { readonly prototype: object } } =>
  has(exports, ["GraphModel", "loadGraphModel"], "function");

/** Stand-ins for tfjs-layers, which is loaded after the agent or never: classes without instances. */
const withoutLayers = () => ({ layers: { Layer: class {} }, LayersModel: class {}, Sequential: class {} });

/**
 * Starts the agent as soon as the program has loaded its copy of tfjs-core in any way, and notifies it when tfjs-layers
 * and tfjs-converter are loaded. All of tfjs 4 is CommonJS in Node. The agent's imports of tfjs resolve to these
 * copies, wherever remat is installed. The idea is from require-in-the-middle, which patches the same function.
 *
 * @returns the packages that the agent shares with the program, or undefined if the agent is missing or cannot be
 * loaded
 */
export function watchTensorFlow(
  agentFile: string,
  order: GivenOrder,
  io: ProgramIo,
): () => typeof enginePackages | undefined {
  const loader = Module as unknown as CommonJs;
  const load = loader._load;
  let agent: Agent | undefined;
  let isTried = false;
  let coreExports: object | undefined;
  let hasLayers = false;
  let hasConverter = false;
  const layersExports = withoutLayers();
  loader._load = function (this: unknown, request, parent, isMain) {
    if (parent?.filename === agentFile) {
      if (request === core) return coreExports;
      if (request === layers) return layersExports;
    }
    const exports = load.call(this, request, parent, isMain);
    if ((hasLayers && hasConverter) || typeof request !== "string" || !request.includes("tfjs")) return exports;
    if (!isTried && !io.isAway && isCore(exports)) {
      isTried = true;
      coreExports = exports;
      agent = io.load(agentFile) as Agent | undefined;
      agent?.startAgent(order, io);
    }
    if (agent !== undefined && !hasLayers && isLayers(exports)) {
      hasLayers = true;
      Object.assign(layersExports, exports);
      agent.layersLoaded();
    }
    if (agent !== undefined && !hasConverter && isConverter(exports)) {
      hasConverter = true;
      agent.converterLoaded(exports.GraphModel);
    }
    return exports;
  };
  return () => agent?.enginePackages;
}
