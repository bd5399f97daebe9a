import { RematError } from "@remat/trace";
import { serialization } from "@tensorflow/tfjs-core";
import { corrected } from "./corrected-layers.js";
import { type JsonObject, ownField } from "./json.js";
import { suppliedActivation } from "./layers/activations.js";
import type { Layer, LayerClass } from "./layers/layer-class.js";
import { withMaskedAverage, withMaskInput } from "./layers/masks.js";
import { missing } from "./supplied-layers.js";

/** How tfjs-layers keeps a class under its name: the class, and what makes an instance of a configuration. */
export type Registration = readonly [
  unknown,
  (cls: unknown, config: JsonObject, customObjects: object, fast: boolean) => Layer,
];
type ClassMap = Record<string, Registration>;

/** Tells whether this package supplies a layer class that tfjs-layers lacks. */
export function isSupplied(className: string): boolean {
  return Object.hasOwn(missing, className);
}

/** Returns tfjs-layers' table of classes by name, which is shared by the whole process. */
export function classMap(): ClassMap {
  return serialization.SerializationMap.getMap().classNameMap as unknown as ClassMap;
}

/** Tells whether tfjs-layers or the user has registered a class of this name. */
export function isRegistered(className: string): boolean {
  return Object.hasOwn(classMap(), className);
}

/** Chooses the class that an instance is made of, in place of the one that is corrected already. */
export type Derive = (cls: LayerClass, config: JsonObject) => LayerClass;

/** The registration of a class as loading a file needs it: tfjs-layers' or the user's own, supplied where missing, corrected where wrong. */
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

/** tfjs-layers keeps initializers, regularizers and optimizers in the same table. */
function isLayerClass(cls: LayerClass): boolean {
  // An arrow function has no prototype.
  const { prototype = {} } = cls as unknown as { readonly prototype?: object };
  return "apply" in prototype && "computeMask" in prototype;
}

/** A class of layers of the user's own, which derives from tfjs-layers' `Layer`. */
export type OwnLayerClass = serialization.SerializableConstructor<serialization.Serializable> & {
  readonly className: string;
};

/**
 * Runs `load` while the table of classes has classes of the user's own, also in place of others; afterwards it is what it was.
 *
 * @throws RematError `KERAS_LAYERS` for what is no class of layers
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
    `One of \`layers\` is ${typeof value === "function" ? `the function '${value.name}'` : `of type ${typeof value}`}: expected a class that extends tf.layers.Layer and has a ` +
      "`static className`, the class's name in the file. Derive it from the tf that loads the model.",
  );
}

/**
 * Runs `build` while the table of classes answers the given names with what {@link registrationOf} finds, each `fromConfig` wrapped by
 * `observe`; afterwards the table is what it was, after an exception too. (Custom objects would be the public way, but tfjs-layers does
 * not pass them on to the layers of a Sequential.)
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
 * Registers the layers that tfjs-layers lacks (`Normalization`), so that `tf.loadLayersModel` and `tf.models.modelFromJSON` know them too.
 * A class of that name that is already registered stays; calling this again changes nothing. `loadKerasModel` does not need it.
 *
 * @returns The names registered by this call.
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
