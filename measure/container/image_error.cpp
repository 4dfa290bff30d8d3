#include "measure/container/image_error.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace nocturne::measure {
namespace {

struct KnownError {
  std::initializer_list<std::string_view> signs;
  std::string_view remedy;
  bool unreachable = false;
};

bool says_any(std::string_view output, std::initializer_list<std::string_view> signs) {
  return std::ranges::any_of(signs, [output](std::string_view sign) { return output.contains(sign); });
}

}  // namespace

// The order matters: a full disk and a refusal are also told as an image that could not be read.
ImageError image_error(std::string_view output) {
  static const std::array<KnownError, 7> kErrors = {{
      {{"no space left on device", "No space left on device", "Disk quota exceeded"},
       "free some space, on the disk of the data folder or of the runtime's storage"},
      {{"unauthorized", "authentication required", "access denied", "denied: requested access", "403 Forbidden"},
       "log in to the registry with the runtime's own login, or correct the reference"},
      {{"manifest unknown", "MANIFEST_UNKNOWN", "manifest for", "not found: manifest", "404 Not Found", "name unknown",
        "repository does not exist", "no such image"},
       "the registry has no such image or no such digest any more: correct the recipe's reference"},
      {{"x509", "certificate signed by unknown authority", "server gave HTTP response to HTTPS client"},
       "the registry's certificate is not trusted: give the runtime its authority"},
      {{"no such host", "Temporary failure in name resolution", "Temporary failure resolving", "connection refused",
        "Connection refused", "network is unreachable", "Network is unreachable", "i/o timeout", "Could not resolve",
        "Couldn't download", "Unable to connect"},
       "look at the network and the proxy, or use an image of kind debootstrap or folder",
       /*unreachable=*/true},
      {{"No such script"},
       "this debootstrap does not know the release: correct the recipe's suite, or take a later one"},
      {{"permission denied", "Permission denied", "operation not permitted", "Operation not permitted", "newuidmap"},
       "this user lacks the right: 'nocturne doctor' says what the runtime needs"},
  }};
  for (const KnownError& error : kErrors) {
    if (says_any(output, error.signs)) return {.remedy = error.remedy, .unreachable = error.unreachable};
  }
  return {};
}

}  // namespace nocturne::measure
