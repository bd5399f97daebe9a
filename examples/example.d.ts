import type * as tf from "@tensorflow/tfjs";

/** Arguments that `remat` gives to a model module: see README.md. */
export interface BuildArgs {
  /** tfjs-core and tfjs-layers, as exported by `@tensorflow/tfjs`. */
  readonly tf: typeof tf;
  /** Size of the model (`full` by default). */
  readonly size?: "tiny" | "full";
  /** Number of samples in the inputs. The module's own default if left out. */
  readonly batch?: number;
  /** Runs a function as a module with that name, for plain functions. */
  readonly scope?: <T>(name: string, run: () => T) => T;
}

/**
 * Result of a model module: a layers model, or a plain function with its parameters; and the inputs of one training
 * step.
 */
export type Example = (LayersExample | FunctionExample) & {
  readonly name: string;
  readonly inputs: tf.Tensor | tf.Tensor[];
  readonly targets?: tf.Tensor | tf.Tensor[];
  /** Default: cross-entropy after a softmax, otherwise mean squared error. */
  loss?(outputs: tf.Tensor | tf.Tensor[], targets: tf.Tensor | tf.Tensor[] | undefined): tf.Scalar;
  readonly notes?: string;
};

export interface LayersExample {
  readonly model: tf.LayersModel;
  readonly forward?: undefined;
  readonly parameters?: undefined;
  readonly buffers?: undefined;
}

export interface FunctionExample {
  readonly model?: undefined;
  forward(inputs: tf.Tensor | tf.Tensor[], options: { readonly training: boolean }): tf.Tensor | tf.Tensor[];
  /** Trainable variables by name. A name begins with the scope of the variable. */
  readonly parameters: Readonly<Record<string, tf.Variable>>;
  readonly buffers?: Readonly<Record<string, tf.Tensor>>;
}

/** The default export of a model module, unless that is a layers model itself. */
export type Build = (args: BuildArgs) => Example | Promise<Example>;
