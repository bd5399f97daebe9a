import { serialization } from "@tensorflow/tfjs-core";

/** Classes that TensorFlow.js can construct from a config, by name: layers, initializers, optimizers. */
export type ClassMap = ReadonlyMap<string, { readonly prototype: object }>;

interface CoreExports {
  readonly serialization?: typeof serialization;
}

interface NodeModules {
  readonly _cache?: Readonly<Record<string, { readonly exports?: CoreExports } | undefined>>;
}

/**
 * Returns the registries of all loaded copies of tfjs-core. In Node the bundle of `@tensorflow/tfjs` contains its own
 * copy, which shares the engine but not the registry. @internal
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
