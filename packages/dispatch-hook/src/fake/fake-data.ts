import type { BackendValues, DataType } from "@tensorflow/tfjs-core";

/** The two parts of a complex tensor. */
export interface ComplexParts {
  readonly real: FakeData;
  readonly imag: FakeData;
}

/**
 * Replaces the buffer of a fake tensor. It is itself the `DataId`, so no map is needed between a tensor and its record.
 */
export class FakeData {
  refCount = 1;
  /** True for a single float32 number made by a kernel, as reports read: a loss or a metric. */
  isNumber = false;
  /** True if its values were computed from known whole numbers. */
  isFolded = false;
  readonly dtype: DataType;
  /** The kernel that made it, or another origin. */
  madeBy: string;
  /** Known only for constants from JavaScript, and for values computed from them ({@link foldConstants}). */
  values: BackendValues | undefined;
  readonly parts: ComplexParts | undefined;
  /** Size in bytes of the real buffer. 0 for a complex tensor whose parts have their own buffers. */
  readonly bytes: number;

  constructor(dtype: DataType, madeBy: string, bytes: number, values?: BackendValues, parts?: ComplexParts) {
    this.bytes = bytes;
    this.dtype = dtype;
    this.madeBy = madeBy;
    this.values = values;
    this.parts = parts;
  }

  /** The parts if they have their own buffers and data ids, as on the cpu backend. For the dispatch hook. */
  get complexTensorInfos(): { real: { dataId: FakeData }; imag: { dataId: FakeData } } | undefined {
    if (this.parts === undefined || this.bytes > 0) return undefined;
    return { real: { dataId: this.parts.real }, imag: { dataId: this.parts.imag } };
  }
}
