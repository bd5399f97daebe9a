import { RematError } from "@remat/trace";
import { type JavaScriptCode, javascript } from "@remat/trace/emit";
import { isObject, type JsonObject, show } from "./json.js";
import { toTfjsCase } from "./to-tfjs-case.js";

/** Fields of every layer's configuration, which the base class of tfjs-layers reads. */
const ofEveryLayer = new Set(["name", "trainable", "dtype", "batchInputShape", "batchShape"]);

/** Returns undefined for a text that cannot name a class or a field. */
function identifier(name: string): JavaScriptCode | undefined {
  try {
    return javascript.identifier(name);
  } catch (error) {
    if (error instanceof RematError) return undefined;
    throw error;
  }
}

/**
 * Returns the source of a module with a class for an unknown layer of a file, including its fields. Undefined if its
 * name cannot name a class.
 */
export function classSkeleton(className: string, config: unknown): string | undefined {
  const name = identifier(className);
  if (name === undefined) return undefined;
  const written: JsonObject = isObject(config) ? toTfjsCase(config) : {};
  const fields = Object.keys(written).flatMap((field) => {
    const code = ofEveryLayer.has(field) ? undefined : identifier(field);
    return code === undefined ? [] : [{ code, comment: javascript.comment(`${show(written[field])} in the file`) }];
  });
  const kept = [javascript`...super.getConfig()`, ...fields.map(({ code }) => javascript`${code}: this.${code}`)];
  return javascript.lines([
    javascript`// my-layers.js
export default ({ tf }) => [
  class ${name} extends tf.layers.Layer {
    static className = ${javascript.string(className)};
    constructor(config) {
      super(config);`,
    ...fields.map(({ code, comment }) => javascript`      this.${code} = config.${code}; ${comment}`),
    javascript`    }
    // Its weights: this.kernel = this.addWeight("kernel", shape, "float32", tf.initializers.glorotUniform()); super.build(inputShape)
    build(inputShape) {
      super.build(inputShape);
    }
    computeOutputShape(inputShape) {
      return inputShape;
    }
    call(inputs, { training }) {
      const [x] = [inputs].flat();
      return x; ${javascript.comment(`What ${className} computes of it, in functions of tf that have gradients`)}
    }
    getConfig() {
      return { ${javascript.list(kept)} };
    }
  },
];`,
  ]);
}
