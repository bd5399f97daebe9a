import type { WithoutDevice } from "../backend.js";

/** The part of `MathBackendWebGL` that is read and replaced here. */
interface WebglInstance {
  readonly gpgpu: GpuContext;
  warnedAboutMemory: boolean;
  getAndSaveBinary: () => unknown;
}

interface GpuContext {
  /** Only its constants are read. */
  readonly gl: object;
  readonly textureConfig: object;
}

/** The part of a compiled program that `runProgram` reads, without uniforms. */
const nothingCompiled = {
  program: { enableShapeUniforms: true },
  webGLProgram: {},
  variablesLocations: new Proxy([], { get: () => ({}) }),
  nanLoc: null,
  infLoc: null,
};

/** A context of the same class that makes empty textures, draws nothing, and has no values. */
function contextWithoutDevice(real: GpuContext): GpuContext {
  const Context = Object.getPrototypeOf(real) as object;
  const context = Object.create(Context) as GpuContext & Record<string, unknown>;
  // Some methods are own properties of the object, depending on the WebGL version.
  for (const name of [...Object.getOwnPropertyNames(Context), ...Object.keys(real)]) {
    const { value } = Object.getOwnPropertyDescriptor(name in Context ? Context : real, name) ?? {};
    if (name === "constructor" || typeof value !== "function") continue;
    context[name] = name.startsWith("download") ? refuseValues : doNothing;
    if (/^create.*MatrixTexture$/.test(name))
      context[name] = (rows: number, columns: number) => ({ texture: {}, texShape: [rows, columns] });
  }
  const { gl, textureConfig } = real;
  return Object.assign(context, { gl, textureConfig });
}

const doNothing = (): void => {};
const refuseValues = (): never => {
  throw new Error("no kernel was executed");
};

/**
 * TensorFlow.js's own backend and texture manager on a context that does nothing. The same kernels make the same
 * textures.
 */
export const webglWithoutDevice: WithoutDevice = (instance) => {
  const { gpgpu } = instance as WebglInstance;
  const Webgl = instance.constructor as new (context: GpuContext) => WebglInstance;
  const made = new Webgl(contextWithoutDevice(gpgpu));
  made.warnedAboutMemory = true;
  made.getAndSaveBinary = () => nothingCompiled;
  return made;
};
