#include "kernels/cuda/device/nvml.hpp"

#include <dlfcn.h>

namespace nocturne::cuda {

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
  if (all.temperature != nullptr && all.temperature(device_, kTemperatureGpu, &value) == 0) {
    reading.temperature_c = value;
  }
  if (all.power != nullptr && all.power(device_, &value) == 0) reading.power_w = value * 1e-3;
  if (all.energy != nullptr && all.energy(device_, &wide) == 0) reading.energy_j = static_cast<double>(wide) * 1e-3;
  if (all.throttle != nullptr && all.throttle(device_, &wide) == 0) reading.throttle_bits = wide;
  return reading;
}

}  // namespace nocturne::cuda
