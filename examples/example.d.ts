import type * as tf from "@tensorflow/tfjs";

/** What `remat` gives to a model module: see README.md. */
export interface BuildArgs {
  /** tfjs-core and tfjs-layers, as `@tensorflow/tfjs` exports them. */
  readonly tf: typeof tf;
  /** How big a model to build; `full` if left out. */
  readonly size?: "tiny" | "full";
  /** How many samples the inputs hold; the module's own number if left out. */
  readonly batch?: number;
  /** Runs a function as the module of that name, for plain functions. */
  readonly scope?: <T>(name: string, run: () => T) => T;
}

/** What a model module makes: a layers model, or a plain function with its parameters; and what one training step needs. */
export type Example = (LayersExample | FunctionExample) & {
  readonly name: string;
  readonly inputs: tf.Tensor | tf.Tensor[];
  readonly targets?: tf.Tensor | tf.Tensor[];
  /** What the outputs suggest if left out: cross-entropy after a softmax, else mean squared error. */
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
  /** Trainable variables by name; a name begins with the scope that the variable belongs to. */
  readonly parameters: Readonly<Record<string, tf.Variable>>;
  readonly buffers?: Readonly<Record<string, tf.Tensor>>;
}

/** The default export of a model module, unless that is a layers model itself. */
export type Build = (args: BuildArgs) => Example | Promise<Example>;
