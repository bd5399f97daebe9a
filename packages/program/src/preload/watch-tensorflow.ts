import Module, { createRequire } from "node:module";
import type { startAgent } from "../agent/agent.js";
import type { GivenOrder } from "../program-order.js";

/** What CommonJS loads by, an `import` of a CommonJS module included: as much of it as is patched. */
interface CommonJs {
  _load(request: string, parent: { readonly filename?: string } | null | undefined, isMain: boolean): unknown;
}

const core = "@tensorflow/tfjs-core";

/** Also of the bundles that tfjs ships, which hold all of tfjs-core. */
const isCore = (exports: unknown): exports is { readonly version_core: string } =>
  typeof exports === "object" &&
  exports !== null &&
  typeof (exports as { engine?: unknown }).engine === "function" &&
  typeof (exports as { version_core?: unknown }).version_core === "string";

/**
 * Starts the agent as soon as the program has loaded its copy of tfjs-core, by whichever way: all of tfjs 4 is CommonJS in Node. What the agent
 * imports of tfjs is that very copy, wherever remat is installed. Source of the idea: require-in-the-middle, which patches the same function.
 */
export function watchTensorFlow(agentFile: string, order: GivenOrder): void {
  const loader = Module as unknown as CommonJs;
  const load = loader._load;
  let found: object | undefined;
  loader._load = function (this: unknown, request, parent, isMain) {
    if (request === core && parent?.filename === agentFile) return found;
    const exports = load.call(this, request, parent, isMain);
    if (found === undefined && typeof request === "string" && request.includes("tfjs") && isCore(exports)) {
      found = exports;
      const agent = createRequire(agentFile)(agentFile) as { startAgent: typeof startAgent };
      agent.startAgent(order);
    }
    return exports;
  };
}
