#include "kernels/onednn/builder.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/onednn/instruction_set.hpp"
#include "kernels/onednn/refusal.hpp"
#include "kernels/onednn/slices.hpp"

namespace nocturne::onednn {
namespace {

// dnnl::primitive::execute() builds a fresh argument array on each call; this one keeps it.
class PrimitiveCall {
 public:
  PrimitiveCall(const dnnl::primitive_desc_base& descriptor, dnnl::stream stream,
                const std::vector<std::pair<int, dnnl::memory>>& arguments)
      : primitive_(descriptor.get()), stream_(std::move(stream)) {
    for (const auto& [index, memory] : arguments) {
      memories_.push_back(memory);
      arguments_.push_back({index, memory.get()});
    }
  }
  void run() const {
    const dnnl_status_t status =
        dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
    if (status != dnnl_success) throw dnnl::error(status, "a oneDNN primitive failed");
  }

 private:
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memories_;  // keeps the handles alive
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace

bool is_reference(const std::string& implementation_name) {
  return implementation_name.find("ref") != std::string::npos;
}

dnnl::primitive_desc_base choose(const std::string& what, const std::vector<Candidate>& candidates) {
  dnnl::primitive_desc_base first;
  for (const Candidate& candidate : candidates) {
    const dnnl::primitive_desc_base found = candidate();
    if (!found) continue;
    if (!is_reference(found.impl_info_str())) return found;
    if (!first) first = found;
  }
  if (!first) {
    throw Unsupported(what + ": oneDNN has no implementation for it with the instruction set " +
                      effective_instruction_set());
  }
  return first;
}

dnnl::primitive_attr attributes(bool relu) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (relu) {
    dnnl::post_ops after;
    after.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
    attributes.set_post_ops(after);
  }
  return attributes;
}

void Builder::begin(std::vector<Operation>& list, std::size_t layer, const std::string& layer_name) {
  list_ = &list;
  layer_ = layer;
  layer_name_ = layer_name;
  reordered_.clear();
}

void Builder::add_call(const std::string& name, const dnnl::primitive_desc_base& descriptor,
                       std::vector<std::pair<int, dnnl::memory>> arguments, std::int64_t slice) {
  const dnnl::memory::desc scratchpad = descriptor.scratchpad_desc();
  if (scratchpad.get_size() > 0) {
    void* const none = DNNL_MEMORY_NONE;  // memory is given to it later
    scratchpads_.emplace_back(scratchpad, engine_, none);
    arguments.emplace_back(DNNL_ARG_SCRATCHPAD, scratchpads_.back());
  }
  auto call = std::make_shared<PrimitiveCall>(descriptor, stream_, arguments);
  list_->push_back({layer_, slice, layer_name_ + " " + name, [call](const StepContext&) { call->run(); }, false});
  if (slice > 0) return;
  const std::string implementation = descriptor.impl_info_str();
  implementations_.push_back({layer_name_, name, implementation, is_reference(implementation)});
}

void Builder::add_primitive(const std::string& name, const dnnl::primitive_desc_base& descriptor,
                            const std::vector<std::pair<int, dnnl::memory>>& arguments) {
  add_call(name, descriptor, arguments, -1);
}

void Builder::add_slices(const std::string& name, const dnnl::primitive_desc_base& descriptor, std::int64_t slices,
                         const std::vector<std::pair<int, dnnl::memory>>& per_image,
                         const std::vector<std::pair<int, dnnl::memory>>& shared) {
  for (std::int64_t slice = 0; slice < slices; ++slice) {
    std::vector<std::pair<int, dnnl::memory>> arguments = shared;
    for (const auto& [index, memory] : per_image) arguments.emplace_back(index, slice_of(memory, slices, slice));
    add_call(name, descriptor, std::move(arguments), slice);
  }
}

void Builder::add_loop(const std::string& name, std::function<void(const StepContext&)> loop, std::int64_t slice) {
  list_->push_back({layer_, slice, layer_name_ + " " + name, std::move(loop), false});
}

dnnl::memory Builder::in_layout(const dnnl::memory& from, const dnnl::memory::desc& wanted, const std::string& name) {
  if (from.get_desc() == wanted) return from;
  for (const Reordered& known : reordered_) {
    if (known.from == from.get() && known.to.get_desc() == wanted) return known.to;
  }
  const dnnl::memory to = allocate(wanted);
  add_reorder(name, from, to);
  reordered_.push_back({from.get(), to});
  return to;
}

void Builder::add_reorder(const std::string& name, const dnnl::memory& from, const dnnl::memory& to) {
  const dnnl::reorder::primitive_desc descriptor(engine_, from.get_desc(), engine_, to.get_desc(), attributes());
  add_primitive(name, descriptor, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void Builder::finish() {
  std::size_t largest = 0;
  for (const dnnl::memory& scratchpad : scratchpads_) largest = std::max(largest, scratchpad.get_desc().get_size());
  if (largest == 0) return;
  void* shared = arena_.allocate(largest);
  for (dnnl::memory& scratchpad : scratchpads_) scratchpad.set_data_handle(shared);
}

}  // namespace nocturne::onednn
