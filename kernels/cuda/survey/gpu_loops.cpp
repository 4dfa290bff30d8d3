#include "kernels/cuda/survey/gpu_loops.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "kernels/cuda/cudnn/convolution_algorithms.hpp"
#include "kernels/cuda/cudnn/cudnn_objects.hpp"
#include "kernels/cuda/device/check.hpp"
#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/plan/algorithm_choice.hpp"
#include "kernels/cuda/settings.hpp"
#include "kernels/cuda/survey/peak_launchers.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::cuda {
namespace {

// A large product of matrices by cuDNN: what the tensor cores reach through the library that trains, with instructions
// (Hopper's wgmma) that the plain loop in peaks.cu has not.

/// As a convolution of 1×1, channels last: 8192 pixels of 4096 channels to 4096. All factors are one, so each result is
/// 4096, in every type exactly.
class PeakProduct {
 public:
  /// Allocates, and asks cuDNN for the algorithm it likes best. Throws worker::Unsupported, worker::OutOfDeviceMemory.
  PeakProduct(Precision precision, const Stream& stream);

  [[nodiscard]] static double flops();
  void run();
  /// Adds to `wrong` (on the device) the results that are not 4096.
  void count_wrong(unsigned* wrong);

 private:
  DataType type_;
  const Stream& stream_;
  CudnnHandle cudnn_;
  TensorDescriptor input_, output_;
  FilterDescriptor filter_;
  ConvolutionDescriptor convolution_;
  DeviceMemory input_data_, weights_data_, output_data_, workspace_;
  int algorithm_ = 0;
};

constexpr std::int64_t kImages = 8, kSide = 32, kChannels = 4096;
constexpr std::int64_t kPixels = kImages * kSide * kSide;
constexpr std::int64_t kWorkspaceLimit = std::int64_t{512} << 20;
constexpr networks::Shape kShape{.channels = kChannels, .height = kSide, .width = kSide};

double PeakProduct::flops() {
  return 2.0 * static_cast<double>(kPixels) * static_cast<double>(kChannels) * static_cast<double>(kChannels);
}

PeakProduct::PeakProduct(Precision precision, const Stream& stream)
    : type_(data_type(precision)),
      stream_(stream),
      input_(tensor_descriptor(kImages, kShape, type_, Layout::Nhwc)),
      output_(tensor_descriptor(kImages, kShape, type_, Layout::Nhwc)),
      input_data_(kPixels * kChannels * bytes_per_value(precision), "the peak's factors"),
      weights_data_(kChannels * kChannels * bytes_per_value(precision), "the peak's factors"),
      output_data_(kPixels * kChannels * bytes_per_value(precision), "the peak's product") {
  check(cudnnSetStream(cudnn_.get(), stream_.get()), "stream");
  check(cudnnSetFilter4dDescriptor(filter_.get(), cudnn_type(type_), CUDNN_TENSOR_NHWC, static_cast<int>(kChannels),
                                   static_cast<int>(kChannels), 1, 1),
        "filter");
  check(
      cudnnSetConvolution2dDescriptor(convolution_.get(), 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
      "convolution");
  check(cudnnSetConvolutionMathType(convolution_.get(), math_type(precision)), "convolution");
  const ConvolutionTensors tensors{
      .input = input_.get(), .filter = filter_.get(), .convolution = convolution_.get(), .output = output_.get()};
  const Pass pass{.cudnn = cudnn_.get(), .stream = stream_.get()};
  const auto choice =
      choose(estimated_candidates(pass, Operation::Forward, tensors), Algorithm::Heuristic, kWorkspaceLimit);
  if (!choice) throw worker::Unsupported("cuDNN has no algorithm for a product in " + std::string(to_text(precision)));
  algorithm_ = choice->algorithm;
  workspace_ = DeviceMemory(choice->workspace_bytes, "the peak's workspace");
  const FillRule ones{.centre = 1};
  launch_fill(input_data_.data(), type_, kPixels * kChannels, ones, stream_.get());
  launch_fill(weights_data_.data(), type_, kChannels * kChannels, ones, stream_.get());
}

void PeakProduct::run() {
  check(cudnnConvolutionForward(
            cudnn_.get(), &kOne, input_.get(), input_data_.data(), filter_.get(), weights_data_.data(),
            convolution_.get(), static_cast<cudnnConvolutionFwdAlgo_t>(algorithm_), workspace_.data(),
            static_cast<std::size_t>(workspace_.bytes()), &kZero, output_.get(), output_data_.data()),
        "the peak's product");
}

void PeakProduct::count_wrong(unsigned* wrong) {
  launch_check_equal(output_data_.data(), static_cast<float>(kChannels), type_, kPixels * kChannels, wrong,
                     stream_.get());
}

using std::chrono::nanoseconds;

constexpr std::int64_t kFewestArithmetic = 1024, kMostFma = std::int64_t{1} << 30;
constexpr std::int64_t kMostPasses = std::int64_t{1} << 20;
constexpr float kTriadScale = 3;
constexpr std::int64_t kLargestArray = std::int64_t{256} << 20;  // far beyond any cache of a GPU
constexpr std::int64_t kCopied = std::int64_t{128} << 20;
constexpr int kBlocksPerProcessor = 16;  // several waves, so that the gaps of the last one do not count

// What all loops of one GPU share.
class LoopContext {
 public:
  LoopContext() : wrong_(sizeof(unsigned), "a counter") {
    int device = 0, processors = 1;
    check(cudaGetDevice(&device), "GPU");
    check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "GPU");
    grid.blocks = static_cast<unsigned>(processors * kBlocksPerProcessor);
  }

  template <typename Work>
  nanoseconds time(const Work& work) {
    return watch_.time(stream.get(), work);
  }
  [[nodiscard]] unsigned* wrong() const { return wrong_.as<unsigned>(); }
  // Whether nothing was counted since the last time.
  bool none_wrong() {
    unsigned count = 0;
    check(cudaStreamSynchronize(stream.get()), "waiting for the GPU");
    check(cudaMemcpy(&count, wrong_.data(), sizeof count, cudaMemcpyDeviceToHost), "a counter");
    check(cudaMemset(wrong_.data(), 0, sizeof count), "a counter");
    check(cudaStreamSynchronize(nullptr), "a counter");
    return count == 0;
  }

  Stream stream;
  PeakGrid grid;

 private:
  Stopwatch watch_;
  DeviceMemory wrong_;
};

using SharedContext = std::shared_ptr<LoopContext>;

GpuLoop arithmetic_loop(const char* name, const char* kernel, const SharedContext& context) {
  return {.name = name, .unit = "GFLOP/s", .kernel = kernel, .is_right = [context] { return context->none_wrong(); }};
}

GpuLoop fma_loop(const SharedContext& context) {
  GpuLoop loop = arithmetic_loop("fma_f32", "fma", context);
  loop.work = 2.0 * kFmaChains * static_cast<double>(context->grid.threads());
  loop.fewest = kFewestArithmetic;
  loop.most = kMostFma;
  loop.run = [context](std::int64_t iterations) {
    return context->time(
        [&] { launch_fma(iterations, 0.5F, 1.0F, context->grid, context->wrong(), context->stream.get()); });
  };
  return loop;
}

GpuLoop mma_loop(const char* name, MmaType type, const SharedContext& context) {
  GpuLoop loop = arithmetic_loop(name, "mma", context);
  loop.work = static_cast<double>(mma_flops(type) * kMmaChains * context->grid.warps());
  loop.fewest = kFewestArithmetic;
  loop.most = kLargestMmaSum / mma_depth(type);
  loop.run = [context, type](std::int64_t iterations) {
    return context->time([&] { launch_mma(type, iterations, context->grid, context->wrong(), context->stream.get()); });
  };
  return loop;
}

GpuLoop product_loop(const char* name, Precision precision, const SharedContext& context) {
  GpuLoop loop = arithmetic_loop(name, "cudnn", context);
  loop.work = PeakProduct::flops();
  loop.most = kMostPasses;
  const auto product = std::make_shared<std::unique_ptr<PeakProduct>>();
  loop.run = [context, product, precision](std::int64_t iterations) {
    if (!*product) {
      *product = std::make_unique<PeakProduct>(precision, context->stream);
      (*product)->run();  // loads the library's kernels
    }
    const nanoseconds took = context->time([&] {
      for (std::int64_t i = 0; i < iterations; ++i) (*product)->run();
    });
    (*product)->count_wrong(context->wrong());
    return took;
  };
  return loop;
}

GpuLoop triad_loop(const DeviceFacts& facts, const SharedContext& context) {
  // Whole vectors; no more than a third of a small GPU's memory for all three.
  const std::int64_t bytes = std::min(kLargestArray, facts.memory_bytes / 9) / 256 * 256;
  const auto count = bytes / static_cast<std::int64_t>(sizeof(float));
  const auto memory = std::make_shared<std::vector<DeviceMemory>>();
  const auto run = [=](std::int64_t passes) {
    const bool fresh = memory->empty();
    while (memory->size() < 3) memory->emplace_back(bytes, "the triad");
    const TriadArrays arrays{
        .a = memory->at(0).as<float>(), .b = memory->at(1).as<float>(), .c = memory->at(2).as<float>(), .count = count};
    if (fresh) launch_fill_triad(arrays, context->stream.get());
    const nanoseconds took = context->time([&] {
      for (std::int64_t pass = 0; pass < passes; ++pass) launch_triad(arrays, kTriadScale, context->stream.get());
    });
    launch_check_triad(arrays, kTriadScale, context->wrong(), context->stream.get());
    return took;
  };
  return {.name = "triad",
          .unit = "GB/s",
          .kernel = "triad",
          .work = static_cast<double>(kTriadBytes * count),
          .working_set_bytes = 3 * bytes,
          .most = kMostPasses,
          .run = run,
          .is_right = [context] { return context->none_wrong(); }};
}

// Pinned memory on both sides of a copy, so that what came back is compared with what went.
struct CopyMemory {
  PinnedMemory sent{kCopied, "pinned memory"}, received{kCopied, "pinned memory"};
  DeviceMemory device{kCopied, "copies"};
  CopyMemory() {
    std::iota(sent.as<std::uint32_t>(), sent.as<std::uint32_t>() + kCopied / 4, 1U);
    std::memset(received.as<void>(), 0, static_cast<std::size_t>(kCopied));
  }
  void copy(bool to_device, const Stream& stream) const {
    const auto size = static_cast<std::size_t>(kCopied);
    check(to_device ? cudaMemcpyAsync(device.data(), sent.as<void>(), size, cudaMemcpyHostToDevice, stream.get())
                    : cudaMemcpyAsync(received.as<void>(), device.data(), size, cudaMemcpyDeviceToHost, stream.get()),
          "copies");
  }
};

GpuLoop copy_loop(const char* name, bool to_device, const std::shared_ptr<std::unique_ptr<CopyMemory>>& memory,
                  const SharedContext& context) {
  return {.name = name,
          .unit = "GB/s",
          .kernel = "copy",
          .work = static_cast<double>(kCopied),
          .working_set_bytes = kCopied,
          .most = kMostPasses,
          .run =
              [=](std::int64_t times) {
                if (!*memory) *memory = std::make_unique<CopyMemory>();
                (*memory)->copy(true, context->stream);  // or there would be nothing to bring back
                return context->time([&] {
                  for (std::int64_t i = 0; i < times; ++i) (*memory)->copy(to_device, context->stream);
                });
              },
          .is_right =
              [=] {
                (*memory)->copy(false, context->stream);
                check(cudaStreamSynchronize(context->stream.get()), "waiting for the GPU");
                return std::memcmp((*memory)->sent.as<void>(), (*memory)->received.as<void>(),
                                   static_cast<std::size_t>(kCopied)) == 0;
              }};
}

struct TensorFigure {
  const char* name;
  MmaType type;
  Precision precision;
};

}  // namespace

std::vector<GpuLoop> gpu_loops(const DeviceFacts& facts) {
  const auto context = std::make_shared<LoopContext>();
  std::vector<GpuLoop> loops = {fma_loop(context)};
  for (const auto& [name, type, precision] : {TensorFigure{"fma_tf32", MmaType::Tf32, Precision::Tf32},
                                              TensorFigure{"fma_bf16", MmaType::Bf16, Precision::Bf16},
                                              TensorFigure{"fma_f16", MmaType::F16, Precision::F16}}) {
    if (const auto reason = obstacle(facts, precision)) {
      loops.push_back({.name = name, .unit = "GFLOP/s", .kernel = "mma", .absent = *reason});
      continue;
    }
    loops.push_back(mma_loop(name, type, context));
    loops.push_back(product_loop(name, precision, context));
  }
  loops.push_back(triad_loop(facts, context));
  const auto memory = std::make_shared<std::unique_ptr<CopyMemory>>();
  loops.push_back(copy_loop("to_device", true, memory, context));
  loops.push_back(copy_loop("from_device", false, memory, context));
  return loops;
}

nlohmann::json survey_gpus(machine::Seconds budget) {
  nlohmann::json gpus = nlohmann::json::array();
  const int count = std::max(1, probe_device().count);
  std::string reason;
  for (int index = 0; index < count; ++index) {
    const DeviceFacts facts = probe_device(index);
    if (const auto why = obstacle(facts, Precision::F32)) {
      reason = *why;
      continue;
    }
    gpus.push_back(describe_gpu(facts, survey_gpu(gpu_loops(facts), budget / static_cast<double>(count))));
  }
  nlohmann::json document = nlohmann::json::object();
  if (gpus.empty()) document["reason"] = reason;
  document["gpus"] = std::move(gpus);
  return document;
}

}  // namespace nocturne::cuda
