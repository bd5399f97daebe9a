import { type JsonText, json } from "@remat/trace/emit";
import type { PyTorchPolicy } from "./to-pytorch-policy.js";

/**
 * Returns a policy as JSON with one op per line, which is readable and works with `diff`.
 *
 * @example
 * await fs.writeFile("policy.json", writePyTorchPolicy(toPyTorchPolicy(plan, trace)));
 */
export function writePyTorchPolicy({ format, model, fingerprint, modules }: PyTorchPolicy): JsonText {
  const lists = Object.entries(modules).map(
    ([fqn, ops]) =>
      json`    ${json.value(fqn)}: [\n${json.join(
        ops.map((op) => json`      ${json.value(op)}`),
        ",\n",
      )}\n    ]`,
  );
  return json.lines([
    json`{`,
    json`  "format": ${json.value(format)},`,
    json`  "model": ${json.value(model)},`,
    json`  "fingerprint": ${json.value(fingerprint)},`,
    lists.length === 0 ? json`  "modules": {}` : json`  "modules": {\n${json.join(lists, ",\n")}\n  }`,
    json`}`,
    json``,
  ]);
}
