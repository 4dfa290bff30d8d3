#include "space/digest.hpp"

#include <openssl/evp.h>

#include <array>

#include <stdexcept>

namespace nocturne::space {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

EVP_MD_CTX* context(void* held) {
  return static_cast<EVP_MD_CTX*>(held);
}
void require(bool done) {
  if (!done) throw std::runtime_error("libcrypto offers no SHA-256");
}
}  // namespace

void Sha256::Free::operator()(void* held) const {
  EVP_MD_CTX_free(context(held));
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  require(context_ != nullptr && EVP_DigestInit_ex(context(context_.get()), EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) {
  require(EVP_DigestUpdate(context(context_.get()), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  require(EVP_DigestFinal_ex(context(context_.get()), digest.data(), &size) == 1);
  std::string text;
  text.reserve(std::size_t{2} * size);
  for (unsigned int i = 0; i < size; ++i) {
    text += kDigits[digest[i] >> 4U];
    text += kDigits[digest[i] & 15U];
  }
  return text;
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of(kDigits) == std::string_view::npos;
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

std::string short_digest(std::string_view bytes) {
  return sha256(bytes).substr(0, 32);
}

}  // namespace nocturne::space
