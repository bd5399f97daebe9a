/** The settings of a training step that determine which ops it runs. They are enough to run the same step again. */
export interface StepSettings {
  /** The size, `full` or `tiny`, of a model module that has several. */
  readonly size: string;
  /** Samples per batch. Left out for the model's own batch size. */
  readonly batch?: number;
  /** Name of the requested loss. Left out for the model's own loss, or a loss inferred from its outputs. */
  readonly loss?: string;
  /** The file with the batch. Left out if the batch is the model's own or generated. */
  readonly data?: string;
  /** Name of the optimizer, or `none` for gradients only. */
  readonly optimizer: string;
  /** How the layers of a flat model are grouped into modules. */
  readonly grouping: string;
  /** Seed for random numbers in JavaScript: weights, generated data, dropout. */
  readonly seed: number;
  /** True for a call of `predict`, which is a forward pass without training. */
  readonly predict?: true;
}
