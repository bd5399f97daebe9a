import type { WithoutDevice } from "../backend.js";

/** As much of `MathBackendWebGL` as is read and replaced here. */
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

/** What `runProgram` reads of a compiled program, in which it finds no uniform to set. */
const nothingCompiled = {
  program: { enableShapeUniforms: true },
  webGLProgram: {},
  variablesLocations: new Proxy([], { get: () => ({}) }),
  nanLoc: null,
  infLoc: null,
};

/** A context of the same class, which makes textures that are none, draws nothing, and has no values. */
function contextWithoutDevice(real: GpuContext): GpuContext {
  const Context = Object.getPrototypeOf(real) as object;
  const context = Object.create(Context) as GpuContext & Record<string, unknown>;
  // Some methods are the object's own, as the version of WebGL has them.
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
  throw new Error("nothing was computed");
};

/** tfjs's own backend and texture manager, on a context that does nothing: the same kernels make the same textures. */
export const webglWithoutDevice: WithoutDevice = (instance) => {
  const { gpgpu } = instance as WebglInstance;
  const Webgl = instance.constructor as new (context: GpuContext) => WebglInstance;
  const made = new Webgl(contextWithoutDevice(gpgpu));
  made.warnedAboutMemory = true;
  made.getAndSaveBinary = () => nothingCompiled;
  return made;
};
