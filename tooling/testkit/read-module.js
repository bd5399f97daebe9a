import { parseAst } from "vite";

/**
 * An import of a file. `names`: imported names, or "all". `isType`: types only. `isReexport`: the names are exported
 * again and not used in the file itself.
 *
 * @typedef {{ readonly source: string, readonly names: readonly string[] | "all", readonly isType: boolean, readonly isReexport: boolean }} ModuleImport
 */

/**
 * An export of a file. For a re-export, the other file and the name there.
 *
 * @typedef {{ readonly source: string | undefined, readonly name: string, readonly isType: boolean }} ModuleExport
 */

/**
 * Reads the imports of a source, including dynamic ones and those for types, and its exports by name.
 *
 * @param {string} text
 * @param {string} path tells TypeScript, JSX and JavaScript apart
 * @returns {{ readonly imports: readonly ModuleImport[], readonly exports: ReadonlyMap<string, ModuleExport> }}
 */
export function readModule(text, path) {
  /** @type {ModuleImport[]} */
  const imports = [];
  /** @type {Map<string, ModuleExport>} */
  const exports = new Map();
  const take = (source, names, { isType = false, isReexport = false } = {}) =>
    imports.push({ source, names, isType, isReexport });
  const visit = (node, parents) => {
    const source = node.source?.value;
    if (node.type === "ImportDeclaration") take(source, namesOfImport(node), { isType: node.importKind === "type" });
    else if (node.type === "ExportAllDeclaration") take(source, "all", { isType: node.exportKind === "type" });
    else if (node.type === "ExportNamedDeclaration") {
      const isType = node.exportKind === "type";
      const specifiers = node.specifiers ?? [];
      for (const one of specifiers)
        exports.set(nameOf(one.exported), {
          source,
          name: nameOf(one.local),
          isType: isType || one.exportKind === "type",
        });
      if (source !== undefined)
        take(
          source,
          specifiers.map(({ local }) => nameOf(local)),
          { isType, isReexport: true },
        );
      for (const declared of declaredBy(node.declaration))
        exports.set(declared.name, { source: undefined, ...declared });
    } else if (node.type === "ImportExpression" && typeof source === "string") take(source, namesOfDynamic(parents));
    else if (node.type === "TSImportType") {
      const named = source ?? node.argument?.literal?.value;
      if (named !== undefined)
        take(named, node.qualifier == null ? "all" : [firstOf(node.qualifier)], { isType: true });
    }
    for (const child of Object.values(node).flat())
      if (typeof child === "object" && child !== null && typeof child.type === "string")
        visit(child, [node, ...parents]);
  };
  const lang = path.endsWith("x") ? "tsx" : path.endsWith("ts") ? "ts" : "js";
  visit(parseAst(text.replace(/^#!.*/, ""), { lang, sourceType: "unambiguous" }), []);
  return { imports, exports };
}

const nameOf = (node) => node.name ?? node.value;

function namesOfImport({ specifiers }) {
  if (specifiers.some(({ type }) => type === "ImportNamespaceSpecifier")) return "all";
  return specifiers.map((one) => (one.type === "ImportDefaultSpecifier" ? "default" : nameOf(one.imported)));
}

/** `const { a, b } = await import("…")` imports a and b. */
function namesOfDynamic([parent, declarator]) {
  if (parent?.type !== "AwaitExpression" || declarator?.type !== "VariableDeclarator") return "all";
  const { id } = declarator;
  return id.type === "ObjectPattern" ? id.properties.map(({ key }) => nameOf(key)) : "all";
}

/** The first name of `A.B.C`. */
function firstOf(qualifier) {
  return qualifier.left === undefined ? nameOf(qualifier) : firstOf(qualifier.left);
}

function declaredBy(declaration) {
  if (declaration == null) return [];
  const isType = /^TS(?:Interface|TypeAlias)/.test(declaration.type);
  if (declaration.id != null) return [{ name: declaration.id.name, isType }];
  return (declaration.declarations ?? []).map(({ id }) => ({ name: id.name, isType }));
}
