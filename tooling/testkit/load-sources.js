import { createServer } from "vite";

const conditions = ["@remat/source", "node", "import", "module", "default"];

/**
 * Loads a module of the workspace from its TypeScript, and the packages from their sources, even if builds exist.
 *
 * @param {string} path
 * @returns {Promise<{ module: Record<string, any>, invoke: (asked: any) => Promise<any>, close: () => Promise<void> }>}
 * `invoke` answers `runSources` of
 * other processes; `close` ends the loader when nothing more is to be loaded
 */
export async function loadSources(path) {
  const vite = await createServer({
    configFile: false,
    logLevel: "error",
    appType: "custom",
    server: { middlewareMode: true, ws: false, watch: null },
    ssr: { noExternal: [/^@remat\//], resolve: { conditions } },
  });
  const module = await vite.ssrLoadModule(path);
  return { module, invoke: (asked) => vite.environments.ssr.hot.handleInvoke(asked), close: () => vite.close() };
}
