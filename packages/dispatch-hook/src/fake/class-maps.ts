import { serialization } from "@tensorflow/tfjs-core";

/** Classes that tfjs can make from a config, by name: layers, initializers, optimizers. */
export type ClassMap = ReadonlyMap<string, { readonly prototype: object }>;

interface CoreExports {
  readonly serialization?: typeof serialization;
}

interface NodeModules {
  readonly _cache?: Readonly<Record<string, { readonly exports?: CoreExports } | undefined>>;
}

/**
 * The registries of every copy of tfjs-core that is loaded: in Node, `@tensorflow/tfjs` has a copy of its own within its bundle, which
 * shares the engine but not the registry. @internal
 */
export function classMaps(): ClassMap[] {
  const registries = new Set([serialization.SerializationMap.getMap().classNameMap]);
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): NodeModules } };
  const modules = process?.getBuiltinModule?.("module")?._cache ?? {};
  for (const file of Object.keys(modules)) {
    if (!/@tensorflow[\\/+]tfjs/.test(file)) continue;
    const copy = modules[file]?.exports?.serialization?.SerializationMap;
    if (copy !== undefined) registries.add(copy.getMap().classNameMap);
  }
  return [...registries].map(
    (registry) => new Map(Object.entries(registry).map(([name, [constructor]]) => [name, constructor])),
  );
}
