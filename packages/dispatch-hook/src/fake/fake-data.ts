import type { BackendValues, DataType } from "@tensorflow/tfjs-core";

/** The two halves of a complex tensor. */
export interface ComplexParts {
  readonly real: FakeData;
  readonly imag: FakeData;
}

/** What a fake tensor has in place of a buffer. It is itself the `DataId`: no map stands between a tensor and its record. */
export class FakeData {
  refCount = 1;
  /** Whether it is a single number that a kernel made of float32: what reports read, a loss or a metric. */
  isNumber = false;
  /** Whether its values were computed of whole numbers that were known. */
  isFolded = false;
  readonly dtype: DataType;
  /** The kernel that made it, or how else it came about. */
  madeBy: string;
  /** Known only for constants that JavaScript gave, and for what was computed of them ({@link foldConstants}). */
  values: BackendValues | undefined;
  readonly parts: ComplexParts | undefined;
  /** What the buffer would have; 0 for a complex tensor whose parts have buffers of their own. */
  readonly bytes: number;

  constructor(dtype: DataType, madeBy: string, bytes: number, values?: BackendValues, parts?: ComplexParts) {
    this.bytes = bytes;
    this.dtype = dtype;
    this.madeBy = madeBy;
    this.values = values;
    this.parts = parts;
  }

  /** The parts where they have buffers and data ids of their own, as on the cpu backend; for the dispatch hook. */
  get complexTensorInfos(): { real: { dataId: FakeData }; imag: { dataId: FakeData } } | undefined {
    if (this.parts === undefined || this.bytes > 0) return undefined;
    return { real: { dataId: this.parts.real }, imag: { dataId: this.parts.imag } };
  }
}
