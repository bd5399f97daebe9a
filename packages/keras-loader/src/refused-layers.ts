const strings = "it works on strings, which tfjs's kernels do not support";
const table = "it looks its input up in a table";
const foreign = "it runs a program of another framework";
const spectrum = "it computes Fourier transforms";
const images = "it changes images at random, and tfjs has no kernels for that";

/**
 * Keras layers that this loader does not support, with the reason. Such processing belongs before the model, or in your
 * own program.
 */
export const refusedLayers: Readonly<Record<string, string>> = {
  AugMix: images,
  AutoContrast: images,
  ContrastLimitedAdaptiveHistogramEqualization: images,
  CutMix: images,
  DenseFeatures: "it uses feature columns, which are not in a topology",
  Equalization: images,
  FlaxLayer: foreign,
  HashedCrossing: strings,
  Hashing: strings,
  IntegerLookup: table,
  JaxLayer: foreign,
  Lambda: "it is a call of a function, not a layer",
  MaxNumBoundingBoxes: "it works on boxes as well as images",
  MelSpectrogram: spectrum,
  MixUp: images,
  Pipeline: images,
  RandAugment: images,
  RandomColorDegeneration: images,
  RandomColorJitter: images,
  RandomElasticTransform: images,
  RandomErasing: images,
  RandomGaussianBlur: images,
  RandomGrayscale: images,
  RandomHue: images,
  RandomInvert: images,
  RandomPerspective: images,
  RandomPosterization: images,
  RandomSaturation: images,
  RandomSharpness: images,
  RandomShear: images,
  ReversibleEmbedding: "its table is used in both directions",
  Solarization: images,
  STFTSpectrogram: spectrum,
  StringLookup: strings,
  TFSMLayer: foreign,
  TextVectorization: strings,
  TorchModuleWrapper: foreign,
};
