import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, posix, relative, sep } from "node:path";
import { atenHomes, otherAtenNames } from "./aten-names.js";
import { builtTypes, emissionHome, targets } from "./generated-text.js";
import { alsoAllowed, entryOf, importTable, packageFolder } from "./import-table.js";
import { ownFileReaders } from "./own-files.js";
import { badOpening, namesToReplace, upstreamNames, usualWords } from "./prose/words.js";

/** Calls `check` with every module that a file names: static and dynamic imports, re-exports, types. */
function onImports(check) {
  const source = (node) => {
    const literal = node.source?.literal ?? node.source ?? node.argument?.literal;
    if (typeof literal?.value === "string") check(literal.value, node);
  };
  return {
    ImportDeclaration: source,
    ExportAllDeclaration: source,
    ExportNamedDeclaration: source,
    ImportExpression: source,
    TSImportType: source,
  };
}

const pathOf = (context) => relative(context.cwd, context.physicalFilename).split(sep).join("/");

/** Sources of packages and apps, and the report's page. */
const sourcePath = /^(?:packages|apps)\/[^/]+\/(?:src|page)\//;

const declared = new Map();
/**
 * Names of the packages that are installed with an entry's package. A page is built with everything that it imports.
 */
function declaredBy(cwd, entry) {
  if (!declared.has(entry)) {
    const [name, folder] = entry.split("/");
    const file = join(cwd, packageFolder(name), "package.json");
    const { dependencies, peerDependencies, optionalDependencies, devDependencies } = JSON.parse(
      readFileSync(file, "utf8"),
    );
    const built = folder === "page" ? devDependencies : {};
    declared.set(
      entry,
      new Set(Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies, ...built })),
    );
  }
  return declared.get(entry);
}

/** Why `specifier` must not be imported by the file at `path`, or undefined if it may. */
function refusal(specifier, path, cwd) {
  const entry = entryOf(path);
  const rules = importTable[entry];
  if (rules === undefined)
    return `${packageFolder(entry)} has no entry in tooling/lint/import-table.js: add one, and a row in ARCHITECTURE.md.`;
  const name = entry.split("/")[0];
  if (specifier.startsWith(".")) return relativeRefusal(specifier, path, entry);
  if (specifier.startsWith("@remat/")) {
    const other = specifier.slice("@remat/".length);
    if (other === name || other.startsWith(`${name}/`)) return "A package imports its own files by relative path.";
    if (!rules.imports.some((allowed) => allowed === other || alsoAllowed[allowed]?.includes(other)))
      return (
        `${entry} may import ${rules.imports.length === 0 ? "no other package" : `only ${rules.imports.join(", ")}`}, ` +
        `not ${other}: see the table in ARCHITECTURE.md, and change it there first if it is wrong.`
      );
  } else if (isBuiltin(specifier)) {
    return rules.pure
      ? `${entry} runs in a browser, so it imports no Node module. What needs Node belongs in an app.`
      : undefined;
  } else if (specifier.startsWith("@tensorflow/")) {
    if (rules.pure)
      return (
        `${entry} is pure: it reads traces and never sees a tensor, so it imports no tfjs. ` +
        "Observers (dispatch-hook, mod-tracker, tracer) write the trace."
      );
    if (specifier.split("/").length > 2) return "Deep imports of tfjs fail in ESM: import the package itself.";
  }
  const dependency = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  if (!declaredBy(cwd, entry).has(dependency))
    return `${dependency} is neither a dependency nor a peer of @remat/${name}, so users would not have it. Add it to package.json.`;
  return undefined;
}

function relativeRefusal(specifier, path, entry) {
  const target = posix.join(posix.dirname(path), specifier);
  const other = entryOf(target);
  const [name] = entry.split("/");
  if (other === undefined || !target.startsWith(`${packageFolder(name)}/`))
    return "A relative import stays within the package's src; other packages are imported by name.";
  const { floors } = importTable[name];
  const refused = floors === undefined ? undefined : floorRefusal(name, floors, path, target);
  if (refused === undefined && other !== entry && importTable[entry].pure && !importTable[other].pure)
    return `${entry} is pure, and ${other} is not: nothing of ${entry} imports it.`;
  return refused;
}

/** Why a file of an app with floors must not import another of its files, or undefined if it may. */
function floorRefusal(name, floors, path, target) {
  const source = `${packageFolder(name)}/src/`;
  const floorOf = (file) => {
    const first = file.startsWith(source) ? file.slice(source.length).split("/")[0] : undefined;
    const isListed = floors.some((folders) => folders.includes(first));
    const folder = first === undefined || isListed || !floors.flat().includes(".") ? first : ".";
    const floor = floors.findIndex((folders) => folders.includes(folder));
    return { folder, floor: floor < 0 ? floors.length : floor };
  };
  const from = floorOf(path);
  const to = floorOf(target);
  // The file that starts the app is outside of the floors. So is the page, which is an app of its own.
  if (from.floor === floors.length || from.folder === to.folder || to.floor < from.floor) return undefined;
  const below = floors.slice(0, from.floor).flat();
  return (
    `${from.folder} of ${name} may import ${below.length === 0 ? "no other folder" : `only ${below.join(", ")}`}, ` +
    `not ${to.folder}: see the floors in tooling/lint/import-table.js.`
  );
}

const importTableRule = {
  create(context) {
    const path = pathOf(context);
    if (entryOf(path) === undefined) return {};
    return onImports((specifier, node) => {
      const message = refusal(specifier, path, context.cwd);
      if (message !== undefined) context.report({ node, message });
    });
  },
};

const engineMessage =
  "Only dispatch-hook touches the internals of tf.engine(): open a DispatchMode, or add what is missing to dispatch-hook.";

const engineRule = {
  create(context) {
    const path = pathOf(context);
    if (!sourcePath.test(path) || path.startsWith("packages/dispatch-hook/")) return {};
    const report = (node) => context.report({ node, message: engineMessage });
    return {
      ImportSpecifier(node) {
        const from = node.parent?.source?.value;
        if (node.imported.name === "engine" && (from === undefined || from.startsWith("@tensorflow/"))) report(node);
      },
      MemberExpression(node) {
        const name = node.computed ? node.property.value : node.property.name;
        if (
          (name === "engine" && node.parent?.type === "CallExpression" && node.parent.callee === node) ||
          name === "_tfengine"
        )
          report(node);
      },
    };
  },
};

const inNames = new RegExp(`(${namesToReplace.flatMap((words) => words.inNames).join("|")})(?![a-z])`);
const inTexts = new RegExp(`\\b(${usualWords.map(([word]) => word).join("|")})\\b`.replaceAll(" ", "[\\s*/]+"));

const insteadOf = (word) =>
  usualWords.find(([usual]) => usual === word)?.[1] ??
  namesToReplace.find((words) => words.inNames.includes(word)).instead;

/** The only file that formats quantities, and the files that must use it. */
const quantitiesHome = "packages/reporting/src/format-quantity.ts";
const quantitiesAsked = /^(?:apps\/[^/]+|packages\/reporting)\/(?:src|page)\//;

const perCentRule = {
  meta: { type: "problem" },
  create(context) {
    const path = pathOf(context);
    if (!quantitiesAsked.test(path) || path === quantitiesHome) return {};
    return {
      TemplateLiteral(node) {
        node.expressions.forEach((expression, i) => {
          if (!/^ ?%/.test(node.quasis[i + 1].value.cooked)) return;
          if (!/\b1000?\b/.test(context.sourceCode.getText(expression))) return;
          context.report({
            node,
            message: `How per cent are written is decided in ${quantitiesHome}: call one of its functions.`,
          });
        });
      },
    };
  },
};

const wordsRule = {
  create(context) {
    if (!sourcePath.test(pathOf(context))) return {};
    /** Returns whether there was something to report. */
    const check = (node, [, found] = []) => {
      if (found === undefined) return false;
      const word = found.replace(/[\s*/]+/g, " ");
      context.report({ node, message: `Not "${word}" but "${insteadOf(word)}": see tooling/lint/prose/words.js.` });
      return true;
    };
    const checkText = (node, text) => {
      if (check(node, inTexts.exec(text.toLowerCase()) ?? undefined)) return;
      // A message is a sentence: it has words, and spaces between them.
      const sentence = text.split("`")[0].trim();
      if (/^[A-Z]\w* \w+ \w+/.test(sentence) && badOpening.test(sentence))
        context.report({ node, message: `Start with the subject: "${sentence.slice(0, 60)}".` });
    };
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments())
          checkText(comment, comment.value.replace(/^[\s*]+/, "").replace(/\n[\s*]*/g, " "));
      },
      Identifier(node) {
        if (upstreamNames.has(node.name)) return;
        check(node, inNames.exec(node.name.charAt(0).toUpperCase() + node.name.slice(1)) ?? undefined);
      },
      Literal(node) {
        if (typeof node.value === "string") checkText(node, node.value);
      },
      TemplateElement(node) {
        checkText(node, node.value.raw);
      },
    };
  },
};

const eventsMessage =
  "Only memory and the trace's own codec name allocation events: " +
  "read what a trace holds from @remat/memory (readMemoryEvents, HeldMemory), so that it is decided in one place.";
const allocationEvents = new Set(["allocate", "free", "resize"]);

const allocationEventsRule = {
  create(context) {
    const path = pathOf(context);
    if (!sourcePath.test(path) || /^packages\/(?:memory|trace)\//.test(path)) return {};
    const isEventKind = (node) => node?.type === "Identifier" && node.name === "EventKind";
    return {
      MemberExpression(node) {
        const name = node.computed ? node.property.value : node.property.name;
        if (isEventKind(node.object) && allocationEvents.has(name)) context.report({ node, message: eventsMessage });
      },
      VariableDeclarator(node) {
        if (!isEventKind(node.init) || node.id.type !== "ObjectPattern") return;
        for (const property of node.id.properties)
          if (allocationEvents.has(property.key?.name)) context.report({ node: property, message: eventsMessage });
      },
    };
  },
};

/** The only file of the code loaded into programs that accesses files, modules and the system. */
const channel = "packages/program/src/outside/program-io.ts";
/** Code that is loaded into programs and uses Node. */
const inPrograms = /^packages\/program\/src\/(?:agent|preload|outside)\//;
/** Code that is loaded into programs and also runs in browsers. */
const inProgramsAndPages =
  /^packages\/(?:dispatch-hook(?!\/src\/backends\/node\/)|mod-tracker|tracer|leaks|checkpoint)\/src\//;
/** Files of that code that call Node, in a `try` or for calls that cannot fail. */
const guarded = new Set([
  "packages/dispatch-hook/src/backends/machine-memory.ts",
  "packages/dispatch-hook/src/backends/native/one-dnn.ts",
  "packages/checkpoint/src/budget/resident-watch.ts",
  "packages/checkpoint/src/planning-thread.ts",
  "packages/checkpoint/src/planning/collect-garbage.ts",
  "packages/checkpoint/src/planning/planning-worker.ts",
  "packages/dispatch-hook/src/async-context.ts",
  "packages/leaks/src/heap-census.ts",
  "packages/leaks/src/source-site.ts",
]);
/** Modules of Node whose calls fail only because of a bug. */
const harmless = new Set(["module", "path", "url", "util", "perf_hooks"]);
/** Numbers that are known from the start. */
const constants = new Set(["isMainThread", "threadId"]);
const systemCalls = new Set(["chdir", "cwd", "kill", "memoryUsage", "resourceUsage"]);

const isProgramCode = (path) => inPrograms.test(path) && path !== channel;
const isSharedCode = (path) => inProgramsAndPages.test(path) && !guarded.has(path);

const programIoRule = {
  create(context) {
    const path = pathOf(context);
    const isProgram = isProgramCode(path);
    const isShared = isSharedCode(path);
    if (!isProgram && !isShared) return {};
    const message =
      "This runs in the user's process, where a full disk or a process out of descriptors must not end the program: " +
      `ask ProgramIo of ${channel}, which notes what fails.`;
    const report = (node) => context.report({ node, message });
    return {
      ...onImports((specifier, node) => {
        if (!isBuiltin(specifier)) return;
        const name = specifier.replace(/^node:/, "").split("/")[0];
        if (isProgram && harmless.has(name)) return;
        const names = node.specifiers?.map(({ imported }) => imported?.name);
        const areConstants = names?.length > 0 && names.every((each) => constants.has(each));
        if (name === "worker_threads" && isProgram && areConstants) return;
        report(node);
      }),
      MemberExpression(node) {
        const name = node.computed ? node.property.value : node.property.name;
        const isOfProcess = node.object.type === "Identifier" && node.object.name === "process";
        const asked = node.parent?.arguments?.[0]?.value;
        const isHarmless = typeof asked === "string" && harmless.has(asked.replace(/^node:/, ""));
        if ((name === "getBuiltinModule" && !isHarmless) || (isOfProcess && systemCalls.has(name))) report(node);
      },
    };
  },
};

/** Text with a hole for each unknown part, or undefined if nothing is joined. */
function joinedText(node) {
  if (node.type === "TemplateLiteral")
    return node.expressions.length === 0 ? undefined : node.quasis.map(({ value }) => value.cooked ?? "").join("\0");
  const parts = [];
  const visit = (part) => {
    if (part.type === "BinaryExpression" && part.operator === "+") {
      visit(part.left);
      visit(part.right);
    } else if (part.type === "Literal") parts.push(String(part.value));
    else
      parts.push(
        part.type === "TemplateLiteral" ? part.quasis.map(({ value }) => value.cooked ?? "").join("\0") : "\0",
      );
  };
  visit(node);
  const text = parts.join("");
  return text.includes("\0") ? text : undefined;
}

const generatedTextRule = {
  create(context) {
    const path = pathOf(context);
    if (!sourcePath.test(path) || path.startsWith(emissionHome)) return {};
    let importsBuilders = false;
    const checkJoined = (node) => {
      if (node.parent?.type === "TaggedTemplateExpression") return;
      if (node.parent?.type === "BinaryExpression" && node.parent.operator === "+") return;
      const text = joinedText(node);
      if (text === undefined) return;
      for (const { builder, looks, homes = [] } of targets)
        if (looks.test(text) && !homes.some((home) => path.startsWith(home))) {
          context.report({
            node,
            message: `A name in this text could become code or markup. Build it with ${builder} of @remat/trace/emit.`,
          });
          return;
        }
    };
    const checkAssertion = (node) => {
      const type = context.sourceCode.getText(node.typeAnnotation);
      if (builtTypes.test(type) || (type === "never" && importsBuilders))
        context.report({
          node,
          message: `Only the builders of @remat/trace/emit make text of this type: call one instead of asserting it.`,
        });
    };
    return {
      ImportDeclaration(node) {
        if (node.source.value === "@remat/trace/emit") importsBuilders = true;
        if (/\bemit\/(?!index\.js$)/.test(node.source.value))
          context.report({ node, message: "Import what @remat/trace/emit exports, not one of its files." });
      },
      TemplateLiteral: checkJoined,
      BinaryExpression(node) {
        if (node.operator === "+") checkJoined(node);
      },
      TSAsExpression: checkAssertion,
      TSTypeAssertion: checkAssertion,
      TSTypePredicate(node) {
        if (node.typeAnnotation != null) checkAssertion(node.typeAnnotation);
      },
    };
  },
};

/** Functions of `node:fs` and `node:fs/promises` that open a file for reading. */
const openers = new Set(["readFileSync", "readFile", "createReadStream", "openSync", "open", "openAsBlob", "readSync"]);

const inputFilesRule = {
  create(context) {
    const path = pathOf(context);
    // A pure package imports no Node module at all.
    if (!sourcePath.test(path) || ownFileReaders.has(path) || importTable[entryOf(path)]?.pure) return {};
    // Code that runs in the user's process has a separate rule, programIoRule.
    if (isProgramCode(path) || isSharedCode(path)) return {};
    return {
      ImportDeclaration(node) {
        if (!/^(?:node:)?fs(?:\/promises)?$/.test(node.source.value)) return;
        for (const specifier of node.specifiers) {
          const name = specifier.type === "ImportSpecifier" ? specifier.imported.name : "*";
          if (name !== "*" && !openers.has(name)) continue;
          const message =
            "A file of the user's may be a device or a pipe that never ends: " +
            "read it by readInput, readInputText or openInput of @remat/trace/files, " +
            `not by ${name} of ${node.source.value}. What reads remat's own files is listed in tooling/lint/own-files.js.`;
          context.report({ node: specifier, message });
        }
      },
    };
  },
};

const atenMessage =
  "Only packages/pytorch and packages/runtime-estimator/src/aten know ATen ops by name: " +
  "ask a function of @remat/runtime-estimator/aten, or have the importer store the fact in the trace. " +
  "Exceptions are listed with reasons in tooling/lint/aten-names.js.";

const atenNamesRule = {
  create(context) {
    const path = pathOf(context);
    if (!sourcePath.test(path) || otherAtenNames.has(path) || atenHomes.some((home) => path.startsWith(home)))
      return {};
    const check = (node, text) => {
      if (/^\^?aten\\?\./.test(text)) context.report({ node, message: atenMessage });
    };
    return {
      Literal(node) {
        if (typeof node.value === "string") check(node, node.value);
        else if (node.regex !== undefined) check(node, node.regex.pattern);
      },
      TemplateElement(node) {
        check(node, node.value.raw);
      },
    };
  },
};

export default {
  meta: { name: "remat" },
  rules: {
    "import-table": importTableRule,
    "engine-internals": engineRule,
    "per-cent": perCentRule,
    "allocation-events": allocationEventsRule,
    "program-io": programIoRule,
    "generated-text": generatedTextRule,
    "input-files": inputFilesRule,
    "aten-names": atenNamesRule,
    words: wordsRule,
  },
};
