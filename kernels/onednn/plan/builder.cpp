#include "kernels/onednn/plan/builder.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "kernels/onednn/instruction_set.hpp"
#include "kernels/onednn/plan/arena.hpp"
#include "kernels/onednn/slices.hpp"
#include "kernels/worker/refusal.hpp"

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
    throw worker::Unsupported(what + ": oneDNN has no implementation for it with the instruction set " +
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

void Builder::begin(std::vector<Operation>& list, std::size_t layer, const std::string& layer_name, bool lasting) {
  list_ = &list;
  layer_ = layer;
  layer_name_ = layer_name;
  lasting_ = lasting;
  reordered_.clear();
}

Operation Builder::named(const std::string& name) const {
  Operation operation;
  operation.layer = layer_;
  operation.name = layer_name_ + " " + name;
  return operation;
}

void Builder::touch(Operation& operation, const dnnl::memory& memory) const {
  const auto found = numbers_.find(memory.get());
  if (found != numbers_.end()) operation.buffers.push_back(found->second);
}

void Builder::add_call(const std::string& name, const dnnl::primitive_desc_base& descriptor,
                       std::vector<std::pair<int, dnnl::memory>> arguments, Operation operation) {
  for (const auto& [index, memory] : arguments) touch(operation, memory);
  const dnnl::memory::desc scratchpad = descriptor.scratchpad_desc();
  if (scratchpad.get_size() > 0) {
    void* const none = DNNL_MEMORY_NONE;  // memory is given to it later
    scratchpads_.emplace_back(scratchpad, engine_, none);
    arguments.emplace_back(DNNL_ARG_SCRATCHPAD, scratchpads_.back());
  }
  auto call = std::make_shared<PrimitiveCall>(descriptor, stream_, arguments);
  operation.run = [call](const StepContext&) { call->run(); };
  operation.implementation = descriptor.impl_info_str();
  if (operation.slice <= 0)
    implementations_.push_back({layer_name_, name, operation.implementation, is_reference(operation.implementation)});
  list_->push_back(std::move(operation));
}

void Builder::add_primitive(const std::string& name, const dnnl::primitive_desc_base& descriptor,
                            const std::vector<std::pair<int, dnnl::memory>>& arguments, std::int64_t flops, Pass pass) {
  Operation whole = named(name);
  whole.flops = flops;
  whole.pass = pass;
  add_call(name, descriptor, arguments, std::move(whole));
}

void Builder::add_slices(const std::string& name, const dnnl::primitive_desc_base& descriptor, std::int64_t slices,
                         const std::vector<std::pair<int, dnnl::memory>>& per_image,
                         const std::vector<std::pair<int, dnnl::memory>>& shared, std::int64_t flops) {
  for (std::int64_t index = 0; index < slices; ++index) {
    std::vector<std::pair<int, dnnl::memory>> arguments = shared;
    for (const auto& [argument, memory] : per_image) arguments.emplace_back(argument, slice(memory, slices, index));
    Operation part = named(name);
    part.slice = index;
    part.flops = flops / slices;
    add_call(name, descriptor, std::move(arguments), std::move(part));
  }
}

void Builder::add_loop(const std::string& name, std::initializer_list<dnnl::memory> touched,
                       std::function<void(const StepContext&)> loop, std::int64_t slice, Pass pass) {
  Operation whole = named(name);
  whole.slice = slice;
  whole.pass = pass;
  whole.run = std::move(loop);
  for (const dnnl::memory& memory : touched) touch(whole, memory);
  list_->push_back(std::move(whole));
}

dnnl::memory Builder::in_layout(const dnnl::memory& from, const dnnl::memory::desc& wanted, const std::string& name) {
  if (from.get_desc() == wanted) return from;
  for (const Reordering& known : reordered_)
    if (known.from == from.get() && known.to.get_desc() == wanted) return known.to;
  const dnnl::memory to = allocate(wanted);
  add_reorder(name, from, to);
  reordered_.push_back({from.get(), to});
  return to;
}

void Builder::add_reorder(const std::string& name, const dnnl::memory& from, const dnnl::memory& to) {
  const dnnl::reorder::primitive_desc descriptor(engine_, from.get_desc(), engine_, to.get_desc(), attributes());
  add_primitive(name, descriptor, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

dnnl::memory Builder::allocate(const dnnl::memory::desc& desc) {
  if (lasting_) return arena_.allocate_memory(desc, engine_);
  void* const none = DNNL_MEMORY_NONE;
  buffers_.emplace_back(desc, engine_, none);
  numbers_.emplace(buffers_.back().get(), buffers_.size() - 1);
  return buffers_.back();
}

dnnl::memory Builder::slice(const dnnl::memory& buffer, std::int64_t count, std::int64_t index) {
  const auto found = numbers_.find(buffer.get());
  if (count == 1) return buffer;
  if (found == numbers_.end()) return slice_of(buffer, count, index);
  void* const none = DNNL_MEMORY_NONE;
  const dnnl::memory::desc desc = slice_of(buffer.get_desc(), count);
  views_.push_back(
      {dnnl::memory(desc, engine_, none), found->second, desc.get_size() * static_cast<std::size_t>(index)});
  numbers_.emplace(views_.back().memory.get(), found->second);
  return views_.back().memory;
}

void Builder::plan_memory(std::initializer_list<const std::vector<Operation>*> lists) {
  std::vector<worker::Lifetime> lives;
  for (const dnnl::memory& buffer : buffers_) {
    const std::size_t bytes = buffer.get_desc().get_size();
    lives.push_back({.bytes = static_cast<std::int64_t>(bytes), .first = INT64_MAX, .last = 0});
    unshared_bytes_ += bytes;
  }
  std::int64_t position = 0;
  for (const std::vector<Operation>* list : lists) {
    for (const Operation& each : *list) {
      for (const std::size_t number : each.buffers) {
        lives[number].first = std::min(lives[number].first, position);
        lives[number].last = position;
      }
      ++position;
    }
  }
  for (worker::Lifetime& life : lives) life.first = std::min(life.first, life.last);  // those that nothing touches
  const worker::MemoryPlan placement = place_buffers(lives);
  shared_bytes_ = static_cast<std::size_t>(placement.bytes);
  auto* const slab = arena_.allocate_array<char>(shared_bytes_);
  for (std::size_t i = 0; i < buffers_.size(); ++i) buffers_[i].set_data_handle(slab + placement.offsets[i]);
  for (View& view : views_) view.memory.set_data_handle(slab + placement.offsets[view.buffer] + view.offset);
  std::size_t largest = 0;
  for (const dnnl::memory& scratchpad : scratchpads_) largest = std::max(largest, scratchpad.get_desc().get_size());
  if (largest == 0) return;
  void* shared = arena_.allocate(largest);
  for (dnnl::memory& scratchpad : scratchpads_) scratchpad.set_data_handle(shared);
}

}  // namespace nocturne::onednn
