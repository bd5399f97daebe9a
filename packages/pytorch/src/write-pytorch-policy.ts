import type { PyTorchPolicy } from "./to-pytorch-policy.js";

/**
 * Returns a policy as JSON with one op a line: readable, and comparable with `diff`.
 *
 * @example
 * await fs.writeFile("policy.json", writePyTorchPolicy(toPyTorchPolicy(plan, trace)));
 */
export function writePyTorchPolicy({ format, model, fingerprint, modules }: PyTorchPolicy): string {
  const lists = Object.entries(modules).map(
    ([fqn, ops]) =>
      `    ${JSON.stringify(fqn)}: [\n${ops.map((op) => `      ${JSON.stringify(op)}`).join(",\n")}\n    ]`,
  );
  return [
    "{",
    `  "format": ${JSON.stringify(format)},`,
    `  "model": ${JSON.stringify(model)},`,
    `  "fingerprint": ${JSON.stringify(fingerprint)},`,
    lists.length === 0 ? '  "modules": {}' : `  "modules": {\n${lists.join(",\n")}\n  }`,
    "}",
    "",
  ].join("\n");
}
