#pragma once

/// SHA-256 (FIPS 180-4), by OpenSSL's libcrypto. The one hash of the project: identities, cache keys, file checks.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace nocturne::space {

/// 64 lower-case hexadecimal digits of the SHA-256 of `bytes`.
[[nodiscard]] std::string sha256(std::string_view bytes);

/// Whether the text could be one: 64 such digits.
[[nodiscard]] bool is_sha256(std::string_view text);

/// The same for what comes in pieces (files). Throws std::runtime_error only where libcrypto has no SHA-256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(std::string_view bytes);
  /// The hexadecimal digits. REQUIRES: called once, nothing after it.
  [[nodiscard]] std::string finish();

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

/// First 128 bits of sha256(bytes): 32 hexadecimal digits. What configurations and fingerprints are known by.
[[nodiscard]] std::string short_digest(std::string_view bytes);

}  // namespace nocturne::space
