#pragma once

/// Turns layers into a list of operations that is planned once and then only run.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <utility>
#include <vector>

#include "kernels/onednn/plan/arena.hpp"

namespace nocturne::onednn {

/// What changes from step to step and is not data.
struct StepContext {
  std::uint64_t dropout_key = 0;  ///< made of the seed and the step
  bool training = true;           ///< false: dropout does nothing, normalisation takes its running averages
  bool dropout = true;            ///< false: while training, dropout keeps every value as it is
};

/// In which passes an operation runs.
enum class Pass { Any, Training, Evaluation };

struct Operation {
  std::size_t layer = 0;    ///< row of the network's table
  std::int64_t slice = -1;  ///< which slice of the batch; -1: the whole (slices.hpp)
  std::string name;         ///< "conv2 backward data"
  std::function<void(const StepContext&)> run;
  bool completes_row = false;  ///< after it the row's output, or its input's gradient, is whole
  Pass pass = Pass::Any;
  std::int64_t flops = 0;            ///< multiplications and additions; 0: not counted (networks::LayerFigures)
  std::string implementation;        ///< oneDNN's name of it; empty for own loops
  std::vector<std::size_t> buffers;  ///< that it reads or writes, by number: for plan_memory()
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
/// worker::Unsupported naming `what` where none exists.
[[nodiscard]] dnnl::primitive_desc_base choose(const std::string& what, const std::vector<Candidate>& candidates);

/// Attributes of every primitive: the scratchpad is ours, so that no step allocates.
[[nodiscard]] dnnl::primitive_attr attributes(bool relu = false);

/// Collects operations layer by layer, and the buffers they work on.
///
/// A buffer has no memory until plan_memory(): only then is it known from which operation to which it lives, and whose
/// bytes it may take. Loops therefore hold dnnl::memory and ask it for the address when they run.
class Builder {
 public:
  Builder(dnnl::engine engine, dnnl::stream stream, Arena& arena)
      : engine_(std::move(engine)), stream_(std::move(stream)), arena_(arena) {}

  /// Operations added from now on go to the end of `list` and belong to this row of the table. `lasting`: buffers
  /// allocated from now on keep their bytes for ever, as copies of weights must.
  void begin(std::vector<Operation>& list, std::size_t layer, const std::string& layer_name, bool lasting = false);

  void add_primitive(const std::string& name, const dnnl::primitive_desc_base& descriptor,
                     const std::vector<std::pair<int, dnnl::memory>>& arguments, std::int64_t flops = 0,
                     Pass pass = Pass::Any);
  /// The same for a primitive on one of `slices` parts of the batch: adds it once for each part. Arguments in
  /// `per_image` are cut, those in `shared` are not; `flops` are those of the whole batch.
  void add_slices(const std::string& name, const dnnl::primitive_desc_base& descriptor, std::int64_t slices,
                  const std::vector<std::pair<int, dnnl::memory>>& per_image,
                  const std::vector<std::pair<int, dnnl::memory>>& shared, std::int64_t flops = 0);
  /// `touched`: the buffers it reads or writes. `slice`: -1, or the part of the batch that the loop works on.
  void add_loop(const std::string& name, std::initializer_list<dnnl::memory> touched,
                std::function<void(const StepContext&)> loop, std::int64_t slice = -1, Pass pass = Pass::Any);
  /// Operations added until the next begin() go to the end of `list` instead: for those that may wait.
  void divert(std::vector<Operation>& list) { list_ = &list; }
  /// The same values in the wanted layout and type: `from` itself, or a buffer that a reorder added here fills.
  [[nodiscard]] dnnl::memory in_layout(const dnnl::memory& from, const dnnl::memory::desc& wanted,
                                       const std::string& name);
  /// Adds a reorder between two buffers that exist already.
  void add_reorder(const std::string& name, const dnnl::memory& from, const dnnl::memory& to);

  /// A buffer that lives from the first operation that touches it to the last.
  [[nodiscard]] dnnl::memory allocate(const dnnl::memory::desc& desc);
  /// Slice `index` of `count` of a buffer, along the batch (slices.hpp).
  [[nodiscard]] dnnl::memory slice(const dnnl::memory& buffer, std::int64_t count, std::int64_t index);
  [[nodiscard]] const dnnl::engine& engine() const { return engine_; }
  [[nodiscard]] const std::vector<Implementation>& implementations() const { return implementations_; }

  /// Gives all buffers their memory, for operations that run in the order of these lists, and all primitives one
  /// scratchpad, the largest any of them needs: they run one after the other.
  void plan_memory(std::initializer_list<const std::vector<Operation>*> lists);
  /// What the buffers take, and what they would without using any byte twice. REQUIRES: plan_memory().
  [[nodiscard]] std::size_t shared_bytes() const { return shared_bytes_; }
  [[nodiscard]] std::size_t unshared_bytes() const { return unshared_bytes_; }

 private:
  struct View {
    dnnl::memory memory;
    std::size_t buffer, offset;
  };
  struct Reordering {
    dnnl_memory_t from;
    dnnl::memory to;
  };
  void add_call(const std::string& name, const dnnl::primitive_desc_base& descriptor,
                std::vector<std::pair<int, dnnl::memory>> arguments, Operation operation);
  [[nodiscard]] Operation named(const std::string& name) const;
  void touch(Operation& operation, const dnnl::memory& memory) const;

  dnnl::engine engine_;
  dnnl::stream stream_;
  Arena& arena_;
  std::vector<Operation>* list_ = nullptr;
  std::size_t layer_ = 0;
  std::string layer_name_;
  bool lasting_ = false;
  std::vector<Reordering> reordered_;  ///< within the current layer
  std::vector<dnnl::memory> buffers_;
  std::vector<View> views_;
  std::map<dnnl_memory_t, std::size_t> numbers_;  ///< number of a buffer; a view has its buffer's
  std::vector<dnnl::memory> scratchpads_;
  std::vector<Implementation> implementations_;
  std::size_t shared_bytes_ = 0, unshared_bytes_ = 0;
};

}  // namespace nocturne::onednn
