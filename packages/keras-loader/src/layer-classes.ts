import { RematError } from "@remat/trace";
import { serialization } from "@tensorflow/tfjs-core";
import { corrected } from "./corrected-layers.js";
import { type JsonObject, ownField } from "./json.js";
import { suppliedActivation } from "./layers/activations.js";
import type { Layer, LayerClass } from "./layers/layer-class.js";
import { withMaskedAverage, withMaskInput } from "./layers/masks.js";
import { missing } from "./supplied-layers.js";

/**
 * An entry in the class table of tfjs-layers: the class, and a function that makes an instance from a configuration.
 */
export type Registration = readonly [
  unknown,
  (cls: unknown, config: JsonObject, customObjects: object, fast: boolean) => Layer,
];
type ClassMap = Record<string, Registration>;

/** Returns whether this package supplies a layer class that tfjs-layers lacks. */
export function isSupplied(className: string): boolean {
  return Object.hasOwn(missing, className);
}

/** Returns the class table of tfjs-layers by name. The whole process shares it. */
export function classMap(): ClassMap {
  return serialization.SerializationMap.getMap().classNameMap as unknown as ClassMap;
}

/** Returns whether tfjs-layers or the user has registered a class of this name. */
export function isRegistered(className: string): boolean {
  return Object.hasOwn(classMap(), className);
}

/** Chooses the class to instantiate, given the corrected class. */
export type Derive = (cls: LayerClass, config: JsonObject) => LayerClass;

/**
 * Returns the class to load a file with: the class of tfjs-layers or of the user. If that is missing, this package
 * supplies it. If it is wrong, this package corrects it.
 */
function registrationOf(className: string, derive: Derive): Registration | undefined {
  const Activation = isRegistered(className) ? undefined : suppliedActivation(className);
  if (Activation !== undefined) return [Activation, () => new (Activation as unknown as new () => Layer)()];
  if (!isRegistered(className)) {
    const Supplied = ownField(missing, className);
    if (Supplied === undefined) return undefined;
    const { fromConfig } = Supplied as unknown as { readonly fromConfig: Registration[1] };
    return [
      Supplied,
      (_cls, config, customObjects, fast) => {
        const right = config["hasMaskInput"] === true ? withMaskInput(Supplied) : Supplied;
        return fromConfig(derive(right, config), config, customObjects, fast);
      },
    ];
  }
  const [cls, fromConfig] = classMap()[className] as Registration;
  const correction = ownField(corrected, className);
  return [
    cls,
    (_cls, config, customObjects, fast) => {
      const stock = cls as LayerClass;
      const own = correction?.when(config) === true ? correction.make(stock, config) : stock;
      const right = config["hasMaskInput"] === true ? withMaskInput(takingMask(className, own)) : own;
      return fromConfig(isLayerClass(right) ? derive(right, config) : right, config, customObjects, fast);
    },
  ];
}

const takingMask = (className: string, cls: LayerClass): LayerClass =>
  className === "GlobalAveragePooling1D" ? withMaskedAverage(cls) : cls;

/** Distinguishes layers from initializers, regularizers and optimizers, which tfjs-layers keeps in the same table. */
function isLayerClass(cls: LayerClass): boolean {
  // An arrow function has no prototype.
  const { prototype = {} } = cls as unknown as { readonly prototype?: object };
  return "apply" in prototype && "computeMask" in prototype;
}

/** Your own layer class, derived from `Layer` of tfjs-layers. */
export type OwnLayerClass = serialization.SerializableConstructor<serialization.Serializable> & {
  readonly className: string;
};

/**
 * Runs `load` with your own classes in the class table, which may replace others. Restores the table afterwards.
 *
 * @throws RematError `KERAS_LAYERS` if an item is not a layer class
 */
export function withOwnClasses<T>(classes: readonly OwnLayerClass[], load: () => T): T {
  const map = classMap();
  for (const cls of classes as readonly unknown[]) requireLayerClass(cls);
  const before = classes.map(({ className }) => [className, map[className]] as const);
  try {
    for (const cls of classes)
      map[cls.className] = [cls, (cls as unknown as { fromConfig: Registration[1] }).fromConfig];
    return load();
  } finally {
    for (const [name, registration] of before.toReversed()) {
      if (registration === undefined) delete map[name];
      else map[name] = registration;
    }
  }
}

function requireLayerClass(value: unknown): void {
  const { className } = (typeof value === "function" ? value : {}) as { readonly className?: unknown };
  if (typeof className === "string" && className !== "" && isLayerClass(value as LayerClass)) return;
  throw new RematError(
    "KERAS_LAYERS",
    `One of \`layers\` is ` +
      `${typeof value === "function" ? `the function '${value.name}'` : `of type ${typeof value}`}: ` +
      "expected a class that extends tf.layers.Layer with a " +
      "`static className`, its class name in the file. Derive it from the tf that loads the model.",
  );
}

/**
 * Runs `build` while the class table has the results of {@link registrationOf} for the given names, each `fromConfig`
 * wrapped by `observe`. Restores the table afterwards, also after an exception. (Custom objects would be the public
 * way, but tfjs-layers does not pass them to the layers of a Sequential.)
 */
export function withLayerClasses<T>(
  classNames: Iterable<string>,
  derive: Derive,
  observe: (registration: Registration) => Registration,
  build: () => T,
): T {
  const map = classMap();
  const before = new Map<string, Registration | undefined>();
  try {
    for (const name of classNames) {
      const registration = registrationOf(name, derive);
      if (registration === undefined || before.has(name)) continue;
      before.set(name, map[name]);
      map[name] = observe(registration);
    }
    return build();
  } finally {
    for (const [name, registration] of before) {
      if (registration === undefined) delete map[name];
      else map[name] = registration;
    }
  }
}

/**
 * Registers the layers that tfjs-layers lacks (such as `Normalization`), so that `tf.loadLayersModel` and
 * `tf.models.modelFromJSON` can load them. A registered class of the same name stays, and calling this again changes
 * nothing. `loadKerasModel` does not need it.
 *
 * @returns the names registered by this call
 * @example
 * registerKerasLayers(); // ["Normalization"]
 */
export function registerKerasLayers(): string[] {
  const added = Object.keys(missing).filter((name) => !isRegistered(name));
  for (const name of added) {
    serialization.registerClass(missing[name] as unknown as Parameters<typeof serialization.registerClass>[0]);
  }
  return added;
}
