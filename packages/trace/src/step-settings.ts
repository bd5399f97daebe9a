/** How a training step of a model is taken, as far as what it runs depends on that: enough to take the same step again. */
export interface StepSettings {
  /** Of a model module that has several: `full` or `tiny`. */
  readonly size: string;
  /** Samples in a batch; left out: the model's own number. */
  readonly batch?: number;
  /** The loss that was asked for by name; left out: the model's own, or what its outputs suggest. */
  readonly loss?: string;
  /** The file that the batch is from; left out: the model's own batch, or one that is made up. */
  readonly data?: string;
  /** What updates the weights, by name; `none`: gradients only. */
  readonly optimizer: string;
  /** How the layers of a flat model are grouped into modules. */
  readonly grouping: string;
  /** Of random numbers in JavaScript: weights, data that is made up, dropout. */
  readonly seed: number;
  /** Whether it is no training step but a call of `predict`: a forward pass alone. */
  readonly predict?: true;
}
