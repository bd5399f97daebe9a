import { createNodeImportMeta, ESModulesEvaluator, ModuleRunner } from "vite/module-runner";

/**
 * Loads a module of the workspace in a process that gets its modules from a parent with `loadSources`, so that its heap
 * does not contain the compiler.
 *
 * @param {string} path
 * @param {(asked: any) => Promise<any>} invoke
 * @returns {Promise<Record<string, any>>}
 */
export async function runSources(path, invoke) {
  const runner = new ModuleRunner(
    {
      transport: { invoke },
      hmr: false,
      sourcemapInterceptor: "prepareStackTrace",
      createImportMeta: createNodeImportMeta,
    },
    new ESModulesEvaluator(),
  );
  return runner.import(path);
}
