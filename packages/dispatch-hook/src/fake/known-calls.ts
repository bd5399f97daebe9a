import type { TensorInfo } from "@tensorflow/tfjs-core";
import type { KernelAttributes, KernelInputs } from "../kernels/index.js";

interface KnownCall {
  readonly words: readonly number[];
  readonly names: readonly string[];
  readonly bytes: number | undefined;
}

/** More different calls than a repetitive program makes. */
const mostCalls = 10_000;

/**
 * Caches results by kernel, shapes and dtypes of inputs, and attributes. Programs repeat the same calls, and comparing
 * two takes a tenth of the time to infer shapes. A lookup allocates nothing.
 *
 * @internal
 */
export class KnownCalls {
  private readonly calls = new Map<number, KnownCall>();
  /** Key of the last lookup: numbers, strings and their counts. Reused for the next one. */
  private readonly words: number[] = [];
  private readonly names: string[] = [];
  private wordCount = 0;
  private nameCount = 0;
  private hash = 0;

  /** Returns the cached result of such a call, if there is one. */
  find(kernel: string, inputs: KernelInputs, attributes: KernelAttributes | undefined): KnownCall | undefined {
    this.wordCount = this.nameCount = this.hash = 0;
    this.name(kernel);
    this.input(inputs);
    this.attribute(attributes);
    const known = this.calls.get(this.hash);
    return known !== undefined && this.isLast(known) ? known : undefined;
  }

  /** Caches a result for the last lookup. No other lookup may come in between. */
  add(bytes: number | undefined): void {
    if (this.calls.size >= mostCalls) this.calls.clear();
    const { words, names, wordCount, nameCount } = this;
    this.calls.set(this.hash, { words: words.slice(0, wordCount), names: names.slice(0, nameCount), bytes });
  }

  private isLast({ words, names }: KnownCall): boolean {
    if (words.length !== this.wordCount || names.length !== this.nameCount) return false;
    for (let i = 0; i < words.length; i++) if (!Object.is(words[i], this.words[i])) return false;
    for (let i = 0; i < names.length; i++) if (names[i] !== this.names[i]) return false;
    return true;
  }

  private word(word: number): void {
    this.words[this.wordCount++] = word;
    this.hash = Math.imul(this.hash ^ word, 0x9e3779b1) | 0;
    this.hash ^= this.hash >>> 15;
  }

  private name(name: string): void {
    this.names[this.nameCount++] = name;
    this.word(name.length);
  }

  /** Adds tensors by name, or lists of tensors, to the key. */
  private input(input: unknown): void {
    if (Array.isArray(input)) {
      this.word(-1 - input.length);
      for (const each of input) this.input(each);
    } else if (isTensor(input)) {
      const { shape, dtype } = input;
      this.name(dtype);
      this.word(shape.length);
      for (let axis = 0; axis < shape.length; axis++) this.word(shape[axis]);
    } else {
      const named = input as Readonly<Record<string, unknown>>;
      for (const name in named) {
        if (named[name] == null) continue;
        this.name(name);
        this.input(named[name]);
      }
    }
  }

  private attribute(value: unknown): void {
    if (typeof value === "number") this.word(value);
    else if (typeof value === "string") this.name(value);
    else if (typeof value !== "object" || value === null) this.name(String(value));
    else if (Array.isArray(value)) {
      this.word(-1 - value.length);
      for (const each of value) this.attribute(each);
    } else {
      const named = value as Readonly<Record<string, unknown>>;
      this.word(-1);
      for (const name in named) {
        this.name(name);
        this.attribute(named[name]);
      }
    }
  }
}

const isTensor = (input: unknown): input is TensorInfo =>
  typeof (input as Partial<TensorInfo> | null)?.dtype === "string" && Array.isArray((input as TensorInfo).shape);
