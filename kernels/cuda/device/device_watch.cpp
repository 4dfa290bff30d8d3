#include "kernels/cuda/device/device_watch.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace nocturne::cuda {
namespace {

struct Reason {
  std::uint64_t bit;
  std::string_view name;
};

// nvmlClocksThrottleReasons… of NVML's documentation. 1 (idle), 2 (clocks set by hand) and 0x100 (display) are left
// out.
constexpr std::array<Reason, 6> kReasons = {{{0x4, "power_cap"},
                                             {0x8, "hardware"},
                                             {0x10, "sync_boost"},
                                             {0x20, "thermal"},
                                             {0x40, "hardware_thermal"},
                                             {0x80, "power_brake"}}};

using Field = std::optional<double> DeviceReading::*;

// {"min", "mean", "max"} of what was told; null: nothing was.
nlohmann::json spread(const std::vector<DeviceReading>& readings, Field field, bool least, bool mean) {
  double smallest = 0, largest = 0, sum = 0;
  std::int64_t count = 0;
  for (const DeviceReading& each : readings) {
    const std::optional<double>& value = each.*field;
    if (!value) continue;
    smallest = count == 0 ? *value : std::min(smallest, *value);
    largest = count == 0 ? *value : std::max(largest, *value);
    sum += *value;
    ++count;
  }
  if (count == 0) return nullptr;
  nlohmann::json result = {{"max", largest}};
  if (least) result["min"] = smallest;
  if (mean) result["mean"] = sum / static_cast<double>(count);
  return result;
}

}  // namespace

std::vector<std::string> throttle_reasons(std::uint64_t bits) {
  std::vector<std::string> names;
  for (const Reason& reason : kReasons)
    if ((bits & reason.bit) != 0) names.emplace_back(reason.name);
  return names;
}

DeviceWatch::DeviceWatch(std::string name, std::function<DeviceReading()> read, Clock::duration interval)
    : name_(std::move(name)), read_(std::move(read)), interval_(interval) {}

void DeviceWatch::look(Clock::time_point now) {
  if (looked_ && now - *looked_ < interval_) return;
  looked_ = now;
  readings_.push_back(read_());
}

nlohmann::json DeviceWatch::summary() {
  if (!looked_) return nullptr;
  readings_.push_back(read_());
  nlohmann::json fields = {{"name", name_}, {"readings", readings_.size()}};
  const auto add = [&](const char* name, nlohmann::json value) {
    if (!value.is_null()) fields[name] = std::move(value);
  };
  if (readings_.front().energy_j && readings_.back().energy_j)
    fields["energy_j"] = *readings_.back().energy_j - *readings_.front().energy_j;
  add("sm_clock_mhz", spread(readings_, &DeviceReading::sm_clock_mhz, true, true));
  add("memory_clock_mhz", spread(readings_, &DeviceReading::memory_clock_mhz, true, true));
  add("temperature_c", spread(readings_, &DeviceReading::temperature_c, true, false));
  add("power_w", spread(readings_, &DeviceReading::power_w, false, true));
  std::map<std::string, int> held;
  for (const DeviceReading& each : readings_)
    for (const std::string& reason : throttle_reasons(each.throttle_bits)) ++held[reason];
  nlohmann::json throttled = nlohmann::json::object();
  for (const auto& [reason, count] : held)
    throttled[reason] = static_cast<double>(count) / static_cast<double>(readings_.size());
  fields["throttled"] = std::move(throttled);
  return fields;
}

// Its C interface, as its documentation gives it: status 0 is success, a device is an opaque pointer.
struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*by_bus)(const char*, void**) = nullptr;
  int (*energy)(void*, unsigned long long*) = nullptr;  // millijoules since the driver was loaded
  int (*clock)(void*, unsigned, unsigned*) = nullptr;   // MHz
  int (*temperature)(void*, unsigned, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;               // milliwatts
  int (*throttle)(void*, unsigned long long*) = nullptr;  // bits
};

namespace {

constexpr unsigned kClockSm = 1, kClockMemory = 2, kTemperatureGpu = 0;

template <typename Function>
void load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

std::unique_ptr<Nvml> Nvml::open(const std::string& pci_bus) {
  std::unique_ptr<Nvml> nvml(new Nvml());
  nvml->library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (nvml->library_ == nullptr) return nullptr;
  nvml->functions_ = std::make_unique<Functions>();
  Functions& all = *nvml->functions_;
  load(nvml->library_, "nvmlInit_v2", all.init);
  load(nvml->library_, "nvmlShutdown", all.shutdown);
  load(nvml->library_, "nvmlDeviceGetHandleByPciBusId_v2", all.by_bus);
  load(nvml->library_, "nvmlDeviceGetTotalEnergyConsumption", all.energy);
  load(nvml->library_, "nvmlDeviceGetClockInfo", all.clock);
  load(nvml->library_, "nvmlDeviceGetTemperature", all.temperature);
  load(nvml->library_, "nvmlDeviceGetPowerUsage", all.power);
  load(nvml->library_, "nvmlDeviceGetCurrentClocksThrottleReasons", all.throttle);
  if (all.init == nullptr || all.by_bus == nullptr || all.init() != 0) {
    all.shutdown = nullptr;  // it did not begin
    return nullptr;
  }
  if (all.by_bus(pci_bus.c_str(), &nvml->device_) != 0) return nullptr;
  return nvml;
}

Nvml::~Nvml() {
  if (functions_ && functions_->shutdown != nullptr) functions_->shutdown();
  if (library_ != nullptr) dlclose(library_);
}

DeviceReading Nvml::read() const {
  DeviceReading reading;
  const Functions& all = *functions_;
  unsigned value = 0;
  unsigned long long wide = 0;
  if (all.clock != nullptr && all.clock(device_, kClockSm, &value) == 0) reading.sm_clock_mhz = value;
  if (all.clock != nullptr && all.clock(device_, kClockMemory, &value) == 0) reading.memory_clock_mhz = value;
  if (all.temperature != nullptr && all.temperature(device_, kTemperatureGpu, &value) == 0)
    reading.temperature_c = value;
  if (all.power != nullptr && all.power(device_, &value) == 0) reading.power_w = value * 1e-3;
  if (all.energy != nullptr && all.energy(device_, &wide) == 0) reading.energy_j = static_cast<double>(wide) * 1e-3;
  if (all.throttle != nullptr && all.throttle(device_, &wide) == 0) reading.throttle_bits = wide;
  return reading;
}

}  // namespace nocturne::cuda
