import { backend_util, type TensorInfo } from "@tensorflow/tfjs-core";
import type { Infer, InferTable, X } from "./infer.js";
import { fitting, mismatch, refuseComplex } from "./shapes.js";

interface Images {
  readonly images: TensorInfo;
}

interface Image {
  readonly image: TensorInfo;
}

const resizeBilinear: Infer<Images, { size: [number, number] }> = ({ images }, { size }, call) => {
  refuseComplex(call, images);
  return call.make([images.shape[0], size[0], size[1], images.shape[3]], "float32");
};

const resizeNearest: Infer<Images, { size: [number, number] }> = ({ images }, { size }, call) => {
  refuseComplex(call, images);
  return call.make([images.shape[0], size[0], size[1], images.shape[3]], images.dtype);
};

const resizeBilinearGrad: Infer<Images & { dy: TensorInfo }> = ({ images, dy }, _, call) => {
  refuseComplex(call, images);
  refuseComplex(call, dy);
  const [batch, height, width, depth] = images.shape;
  return call.make(call.traits.resizeGradientSwapsAxes ? [batch, width, height, depth] : images.shape, "float32");
};

const resizeNearestGrad: Infer<Images & { dy: TensorInfo }> = ({ images, dy }, _, call) => {
  refuseComplex(call, images);
  refuseComplex(call, dy);
  return call.make(images.shape, call.traits.resizeGradientKeepsDtypeOfDy ? dy.dtype : images.dtype);
};

const cropAndResize: Infer<Image & { boxes: TensorInfo }, { cropSize: [number, number] }> = (
  { image, boxes },
  { cropSize },
  call,
) => call.make([boxes.shape[0], cropSize[0], cropSize[1], image.shape[3]], "float32");

const turned: Infer<Image> = ({ image }, _, call) => call.make(image.shape, image.dtype);

const transform: Infer<Image, { outputShape?: [number, number] | null }> = ({ image }, { outputShape }, call) => {
  const [batch, height, width, channels] = image.shape;
  const wanted = batch === 0 && call.traits.transformForgetsShape ? undefined : outputShape;
  return call.make([batch, wanted?.[0] ?? height, wanted?.[1] ?? width, channels], image.dtype);
};

const dependsOnData: Infer = (_, __, call) => call.dependsOnData();

/** With padding the number of selected boxes is known. */
const nonMaxSuppressionV4: Infer<object, { maxOutputSize: number; padToMaxOutputSize: boolean }> = (
  _,
  attributes,
  call,
) => {
  if (!attributes.padToMaxOutputSize) call.dependsOnData();
  return [call.make([attributes.maxOutputSize], "int32"), call.make([], "int32")];
};

const draw: Infer = (_, __, call) => call.readsData();

interface Dilation2D {
  readonly strides: [number, number] | number;
  readonly pad: "valid" | "same" | number;
  readonly dilations: [number, number] | number;
}

interface Filtered extends X {
  readonly filter: TensorInfo;
}

const dilation: Infer<Filtered, Dilation2D> = ({ x, filter }, { strides, pad, dilations }, call) => {
  if (x.shape.length !== 4 || filter.shape.length !== 3)
    mismatch(call, `x [${x.shape}] must have rank 4 and the filter [${filter.shape}] 3`);
  const info = fitting(
    backend_util.computeDilation2DInfo(x.shape as never, filter.shape as never, strides, pad, "NHWC", dilations),
    call,
  );
  return call.make(info.outShape, x.dtype);
};

const dilationBackpropInput: Infer<X> = ({ x }, _, call) => call.make(x.shape, x.dtype);
const dilationBackpropFilter: Infer<Filtered> = ({ filter }, _, call) => call.make(filter.shape, filter.dtype);

/** Kernels on images. */
export const imageKernels: InferTable = {
  CropAndResize: cropAndResize,
  Dilation2D: dilation,
  Dilation2DBackpropFilter: dilationBackpropFilter,
  Dilation2DBackpropInput: dilationBackpropInput,
  Draw: draw,
  FlipLeftRight: turned,
  NonMaxSuppressionV3: dependsOnData,
  NonMaxSuppressionV4: nonMaxSuppressionV4,
  NonMaxSuppressionV5: dependsOnData,
  ResizeBilinear: resizeBilinear,
  ResizeBilinearGrad: resizeBilinearGrad,
  ResizeNearestNeighbor: resizeNearest,
  ResizeNearestNeighborGrad: resizeNearestGrad,
  RotateWithOffset: turned,
  Transform: transform,
};
