import { add, reshape, type serialization, type Tensor, tidy } from "@tensorflow/tfjs-core";
import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { contract, subscripts } from "../operations/contract.js";
import { type Activation, firstInput, firstShape, type LayerShape, OwnLayer, readActivation } from "./own-layer.js";

type Args = Readonly<Record<string, unknown>>;

/** An equation for inputs of a given shape, with letters instead of dots, and the size of each letter's axis. */
interface Equation {
  readonly input: string;
  readonly kernel: string;
  readonly output: string;
  readonly sizes: ReadonlyMap<string, number | null>;
}

/** Letters for the axes that an equation abbreviates by three dots. */
const lettersOfDots = "ABCDEFGH";

/**
 * Keras' `EinsumDense`: a product of the input with a kernel by an equation such as `abc,cd->abd`, a bias along some
 * axes, and an activation.
 */
export class EinsumDense extends OwnLayer {
  static readonly className = "EinsumDense";
  readonly #args: Args;
  readonly #activation: Activation | undefined;
  #kernel: LayerVariable | undefined;
  #bias: LayerVariable | undefined;

  constructor(args: Args) {
    super(args);
    this.#args = args;
    this.#activation = readActivation(args["activation"]);
  }

  override build(inputShape: LayerShape | LayerShape[]): void {
    const equation = this.#equation(firstShape(inputShape));
    const { kernelInitializer, kernelRegularizer, kernelConstraint } = this.#args;
    const { biasInitializer, biasRegularizer, biasConstraint } = this.#args;
    const options = { initializer: kernelInitializer, regularizer: kernelRegularizer, constraint: kernelConstraint };
    const shape = [...equation.kernel].map((letter) => equation.sizes.get(letter) as number);
    this.#kernel = this.addOwnWeight("kernel", shape, options, "glorotUniform");
    const biased = this.#biasedLetters(equation);
    if (biased !== undefined) {
      const biasOptions = { initializer: biasInitializer, regularizer: biasRegularizer, constraint: biasConstraint };
      const biasShape = [...equation.output].flatMap((letter) =>
        biased.includes(letter) ? [equation.sizes.get(letter) as number] : [],
      );
      this.#bias = this.addOwnWeight("bias", biasShape, biasOptions, "zeros");
    }
    super.build(inputShape);
  }

  override computeOutputShape(inputShape: LayerShape | LayerShape[]): LayerShape {
    const { output, sizes } = this.#equation(firstShape(inputShape));
    return [...output].map((letter) => sizes.get(letter) ?? null);
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    return tidy(() => {
      const x = firstInput(inputs);
      const equation = this.#equation(x.shape);
      const { input, kernel, output, sizes } = equation;
      const product = contract(`${input},${kernel}->${output}`, x, (this.#kernel as LayerVariable).read());
      const biased = this.#biasedLetters(equation) ?? "";
      const broadcast = [...output].map((letter) => (biased.includes(letter) ? (sizes.get(letter) as number) : 1));
      const shifted = this.#bias === undefined ? product : add(product, reshape(this.#bias.read(), broadcast));
      return this.#activation === undefined ? shifted : this.#activation.apply(shifted);
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...(this.#args as serialization.ConfigDict) };
  }

  #biasedLetters({ output }: Equation): string | undefined {
    const axes = this.#args["biasAxes"];
    if (typeof axes !== "string") return undefined;
    return [...output].filter((letter) => axes.includes(letter)).join("");
  }

  #equation(inputShape: LayerShape): Equation {
    const { inputs, output: wanted } = subscripts(String(this.#args["equation"]));
    const [first = "", kernel = ""] = inputs;
    const dots = first.includes("...") ? lettersOfDots.slice(0, inputShape.length - (first.length - 3)) : "";
    const [input, output] = [first.replace("...", dots), wanted.replace("...", dots)];
    const sizes = new Map<string, number | null>();
    // `outputShape` gives the sizes of the result's last axes. Sizes of the input override them.
    const given = [this.#args["outputShape"]].flat() as (number | null)[];
    [...output].slice(-given.length).forEach((letter, i) => sizes.set(letter, given[i] ?? null));
    [...input].forEach((letter, i) => sizes.set(letter, inputShape[i] ?? null));
    return { input, kernel, output, sizes };
  }
}
