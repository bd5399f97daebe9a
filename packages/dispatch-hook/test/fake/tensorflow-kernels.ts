/** Kernels that `@tensorflow/tfjs-node` 4.22.0 registers (its `register_all_kernels.js`). */
export const tensorflowKernels: readonly string[] = `
  Abs Acos Acosh Add AddN All Any ArgMax ArgMin Asin Asinh Atan Atan2 Atanh AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad BatchMatMul
  BatchToSpaceND Bincount BroadcastArgs Cast Ceil ClipByValue Complex ComplexAbs Concat Conv2D Conv2DBackpropFilter
  Conv2DBackpropInput Conv3D Conv3DBackpropFilterV2 Conv3DBackpropInputV2 Cos Cosh CropAndResize Cumprod Cumsum DepthToSpace
  DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput Diag Dilation2D
  Dilation2DBackpropFilter Dilation2DBackpropInput Einsum Elu EluGrad Equal Erf Exp ExpandDims Expm1 FFT Fill FlipLeftRight Floor
  FloorDiv FusedBatchNorm FusedConv2D FusedDepthwiseConv2D GatherNd GatherV2 Greater GreaterEqual IFFT Identity Imag IsFinite IsInf
  IsNan LRN LRNGrad LeakyRelu Less LessEqual LinSpace Log Log1p LogicalAnd LogicalNot LogicalOr Max MaxPool MaxPool3D MaxPool3DGrad
  MaxPoolGrad Maximum Mean Min Minimum MirrorPad Mod Multinomial Multiply Neg NonMaxSuppressionV3 NonMaxSuppressionV4
  NonMaxSuppressionV5 NotEqual OneHot OnesLike Pack PadV2 Pow Prelu Prod Range Real RealDiv Reciprocal Relu Relu6 Reshape
  ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor ResizeNearestNeighborGrad Reverse Round Rsqrt ScatterNd Select Selu
  Sigmoid Sign Sin Sinh Slice Softmax Softplus SpaceToBatchND SparseToDense SplitV Sqrt Square SquaredDifference StaticRegexReplace
  Step StridedSlice Sub Sum Tan Tanh TensorScatterUpdate Tile TopK Transpose Unique Unpack UnsortedSegmentSum ZerosLike _FusedMatMul
`
  .trim()
  .split(/\s+/);
