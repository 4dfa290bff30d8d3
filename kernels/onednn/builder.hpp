#pragma once

/// Turns layers into a list of operations that is planned once and then only run.

#include <cstdint>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <utility>
#include <vector>

#include "kernels/onednn/arena.hpp"

namespace nocturne::onednn {

/// What changes from step to step and is not data.
struct StepContext {
  std::uint64_t dropout_key = 0;  ///< of the seed and the step
  bool training = true;           ///< false: dropout does nothing
  bool dropout = true;            ///< false: while training, dropout keeps every value as it is
};

struct Operation {
  std::size_t layer = 0;    ///< row of the network's table
  std::int64_t slice = -1;  ///< of the batch; -1: the whole (slices.hpp)
  std::string name;         ///< "conv2 backward data"
  std::function<void(const StepContext&)> run;
  bool completes_row = false;  ///< after it the row's output, or its input's difference, is whole
};

/// Which of oneDNN's implementations serves an operation.
struct Implementation {
  std::string layer, primitive, name;
  bool reference = false;  ///< plain unoptimised loops: hundreds of times slower, to be told to the user
};
[[nodiscard]] bool is_reference(const std::string& implementation_name);

/// A way to create a primitive; the descriptor is empty where oneDNN has none.
using Candidate = std::function<dnnl::primitive_desc_base()>;

/// Takes the first candidate that is not a reference implementation; if all are, the first that exists. Throws
/// Unsupported naming `what` where none exists.
[[nodiscard]] dnnl::primitive_desc_base choose(const std::string& what, const std::vector<Candidate>& candidates);

/// Attributes of every primitive: the scratchpad is ours, so that no step allocates.
[[nodiscard]] dnnl::primitive_attr attributes(bool relu = false);

/// Collects operations layer by layer. Buffers live in the arena, which must outlive the operations.
class Builder {
 public:
  Builder(dnnl::engine engine, dnnl::stream stream, Arena& arena)
      : engine_(std::move(engine)), stream_(std::move(stream)), arena_(arena) {}

  /// Operations added from now on go to the end of `list` and belong to this row of the table.
  void begin(std::vector<Operation>& list, std::size_t layer, const std::string& layer_name);

  void add_primitive(const std::string& name, const dnnl::primitive_desc_base& descriptor,
                     const std::vector<std::pair<int, dnnl::memory>>& arguments);
  /// The same for a primitive on one of `slices` parts of the batch: adds it once for each part. Arguments in
  /// `per_image` are cut, those in `shared` are not.
  void add_slices(const std::string& name, const dnnl::primitive_desc_base& descriptor, std::int64_t slices,
                  const std::vector<std::pair<int, dnnl::memory>>& per_image,
                  const std::vector<std::pair<int, dnnl::memory>>& shared);
  /// `slice`: -1, or the part of the batch that the loop works on.
  void add_loop(const std::string& name, std::function<void(const StepContext&)> loop, std::int64_t slice = -1);
  /// Operations added until the next begin() go to the end of `list` instead: for those that may wait.
  void divert(std::vector<Operation>& list) { list_ = &list; }
  /// The same values in the wanted layout and type: `from` itself, or a buffer that a reorder added here fills.
  [[nodiscard]] dnnl::memory in_layout(const dnnl::memory& from, const dnnl::memory::desc& wanted,
                                       const std::string& name);
  /// Adds a reorder between two buffers that exist already.
  void add_reorder(const std::string& name, const dnnl::memory& from, const dnnl::memory& to);

  [[nodiscard]] dnnl::memory allocate(const dnnl::memory::desc& desc) { return arena_.allocate_memory(desc, engine_); }
  [[nodiscard]] Arena& arena() { return arena_; }
  [[nodiscard]] const dnnl::engine& engine() const { return engine_; }
  [[nodiscard]] const std::vector<Implementation>& implementations() const { return implementations_; }

  /// Gives all primitives one scratchpad, the largest any of them needs: they run one after the other.
  void finish();

 private:
  void add_call(const std::string& name, const dnnl::primitive_desc_base& descriptor,
                std::vector<std::pair<int, dnnl::memory>> arguments, std::int64_t slice);

  struct Reordered {
    dnnl_memory_t from;
    dnnl::memory to;
  };
  dnnl::engine engine_;
  dnnl::stream stream_;
  Arena& arena_;
  std::vector<Operation>* list_ = nullptr;
  std::size_t layer_ = 0;
  std::string layer_name_;
  std::vector<Reordered> reordered_;  ///< within the current layer
  std::vector<dnnl::memory> scratchpads_;
  std::vector<Implementation> implementations_;
};

}  // namespace nocturne::onednn
