import { describe, expect, it } from "vitest";
import { lintFiles } from "./lint-fixtures.js";

const rule = /generated-text/;
const named = "export const f = (name: string): unknown => ";

/** Sources that could let a name become code or markup, by the builder that they should use. */
const refused: Readonly<Record<string, readonly string[]>> = {
  html: [
    "`<b>${name}</b>`",
    '`<a href="${name}">x</a>`',
    "`<!-- ${name} -->`",
    "`<${name}>`",
    '"<td>" + name + "</td>"',
    '`<text x="1">${name}`',
  ],
  shell: [
    "`Run remat plan ${name} --budget 80%.`",
    "`npm install ${name}`",
    '"try: remat memory " + name',
    "`python -m remat snapshot ${name} out.json`",
    "`node --import ${name} x.js`",
  ],
  python: [
    "`# ${name}\\nimport torch`",
    "`def shard_${name}(model):`",
    '`model.get_submodule("${name}")`',
    '"import torch\\n# " + name',
  ],
  javascript: [
    "`// ${name}\\nawait fit()`",
    "`const x = ${name};`",
    '`await import("${name}")`',
    "`export const { ${name} } = ours;`",
  ],
  markdown: ["`[x](${name})`", "`## ${name}`", "`| ${name} | b |`"],
  terminal: ["`\\u001b[1m${name}\\u001b[22m`", '"\\u001b]0;" + name'],
};

/** Text that is not generated for another language. */
const allowed = [
  "`remat: ${name} cannot be read. Run remat plan MODEL --budget 80%.`",
  "`a < ${name} and b > c`",
  "`${name} #1`",
  "`expected <file>, found ${name}`",
  "`${name}: no default export`",
  '"peak " + name',
  "`const`",
];

const imports = `import { type PythonCode, python, shell, type TerminalText } from "@remat/trace/emit";\n`;
/** Ways round the builders. */
const asserted = [
  `${imports}${named}name as PythonCode;\n`,
  `${imports}${named}<TerminalText>name;\n`,
  `${imports}${named}[name] as unknown as readonly TerminalText[];\n`,
  `${imports}${named}python\`\${name as never}\`;\n`,
  `${imports}export const is = (text: string): text is PythonCode => text === "";\n`,
];

describe("generated text", () => {
  const files: Record<string, string> = {};
  const expected: Record<string, RegExp> = {};
  Object.entries(refused).forEach(([builder, texts]) =>
    texts.forEach((text, i) => {
      const path = `apps/cli/src/${builder}-${i}.ts`;
      files[path] = `${named}${text};\n`;
      expected[path] = new RegExp(`Build it with ${builder}`);
    }),
  );
  asserted.forEach((text, i) => {
    files[`apps/cli/src/asserted-${i}.ts`] = text;
    expected[`apps/cli/src/asserted-${i}.ts`] = /Only the builders/;
  });
  files["packages/trace/src/goes-round.ts"] =
    'export { asEmitted } from "./emit/emitted.js";\nimport { asEmitted } from "./emit/emitted.js";\nexport const a = asEmitted("");\n';
  expected["packages/trace/src/goes-round.ts"] = /Import what/;
  allowed.forEach((text, i) => {
    files[`apps/cli/src/allowed-${i}.ts`] = `${named}${text};\n`;
  });
  files["apps/cli/src/built.ts"] =
    `${imports}${named}shell\`remat plan \${shell.path(name)}\`;\nexport const g = python\`# \n\`;\n`;
  // Tests and the builders themselves are left alone.
  files["apps/cli/test/x.test.ts"] = `${named}\`<b>\${name}</b>\`;\n`;
  files["packages/trace/src/emit/x.ts"] = `${named}\`<b>\${name}</b>\`;\n`;
  files["apps/cli/package.json"] = '{ "name": "@remat/cli", "dependencies": { "@remat/trace": "workspace:*" } }';
  files["packages/trace/package.json"] = '{ "name": "@remat/trace", "dependencies": {} }';

  it("is built, not put together", () => {
    const found = lintFiles(files).filter((finding) => rule.test(finding.rule));
    for (const [path, message] of Object.entries(expected))
      expect(
        found.filter((finding) => finding.path.endsWith(path)).map((finding) => finding.message),
        path,
      ).toEqual([expect.stringMatching(message)]);
    expect(found.filter((finding) => !Object.keys(expected).some((path) => finding.path.endsWith(path)))).toEqual([]);
  });
});
