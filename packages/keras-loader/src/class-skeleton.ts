import { isObject, type JsonObject, show } from "./json.js";
import { toTfjsCase } from "./to-tfjs-case.js";

/** What every layer's configuration has, and tfjs-layers' own class reads. */
const ofEveryLayer = new Set(["name", "trainable", "dtype", "batchInputShape", "batchShape"]);

const isIdentifier = (name: string): boolean => /^[A-Za-z_$][\w$]*$/.test(name);

/** Without what ends a line, and a comment with it, for JavaScript alone. */
const inOneLine = (text: string): string => text.replace(/[\u2028\u2029]/g, " ");

/**
 * Returns the text of a module that makes a class for a layer of a file that nobody has, with what the file says of it; undefined where its name is
 * none that a class can have.
 */
export function classSkeleton(className: string, config: unknown): string | undefined {
  if (!isIdentifier(className)) return undefined;
  const told: JsonObject = isObject(config) ? toTfjsCase(config) : {};
  const fields = Object.keys(told).filter((field) => isIdentifier(field) && !ofEveryLayer.has(field));
  return [
    "// my-layers.js",
    "export default ({ tf }) => [",
    `  class ${className} extends tf.layers.Layer {`,
    `    static className = "${className}";`,
    "    constructor(config) {",
    "      super(config);",
    ...fields.map((field) => `      this.${field} = config.${field}; // ${inOneLine(show(told[field]))} in the file`),
    "    }",
    '    // Its weights: this.kernel = this.addWeight("kernel", shape, "float32", tf.initializers.glorotUniform()); super.build(inputShape)',
    "    build(inputShape) {",
    "      super.build(inputShape);",
    "    }",
    "    computeOutputShape(inputShape) {",
    "      return inputShape;",
    "    }",
    "    call(inputs, { training }) {",
    "      const [x] = [inputs].flat();",
    `      return x; // What ${className} computes of it, in functions of tf that have gradients`,
    "    }",
    "    getConfig() {",
    `      return { ...super.getConfig()${fields.map((field) => `, ${field}: this.${field}`).join("")} };`,
    "    }",
    "  },",
    "];",
  ].join("\n");
}
