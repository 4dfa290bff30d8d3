#include "measure/environment/pip_error.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>

namespace nocturne::measure {

TEST_CASE("pip's words, old and new, become sentences with a remedy", "[environment][pip]") {
  struct Case {
    const char *words, *sentence;
  };
  constexpr std::array kCases = {
      Case{"ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
           "the disk of /d is full"},
      Case{"Could not install packages due to an EnvironmentError: [Errno 122] Disk quota exceeded",
           "the disk of /d is full"},
      // pip 18 and later end in the same words without a network as for a package that vanished.
      Case{
          "  Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) after connection broken by "
          "'NewConnectionError('<pip._vendor.urllib3.connection.VerifiedHTTPSConnection object at 0x7f>: Failed to "
          "establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/torch/\n"
          "  Could not find a version that satisfies the requirement torch==1.4.0 (from versions: )\n"
          "No matching distribution found for torch==1.4.0\n",
          "the package index cannot be reached"},
      Case{"WARNING: Retrying (Retry(total=0, ...)) after connection broken by 'ProxyError('Cannot connect to proxy.', "
           "OSError('Tunnel connection failed: 403 Forbidden'))': /simple/x/\nERROR: No matching distribution found "
           "for x",
           "the package index cannot be reached"},
      Case{"pip._vendor.urllib3.exceptions.ReadTimeoutError: HTTPSConnectionPool(host='f', port=443): Read timed out.",
           "the package index cannot be reached"},
      Case{
          "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to "
          "get local issuer certificate (_ssl.c:1006)'))\nERROR: No matching distribution found for x",
          "the certificate of the package index is not trusted"},
      Case{"ERROR: Could not find a version that satisfies the requirement mxnet==9 (from versions: 1.6.0, 1.9.1)\n"
           "ERROR: No matching distribution found for mxnet==9\n",
           "the package index has no mxnet==9 for this Python and processor"},
      Case{"ERROR: Cannot install a==1 and b==2 because these package versions have conflicting dependencies.\nERROR: "
           "ResolutionImpossible: for help visit https://x",
           "the packages contradict one another: "},
      Case{"ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated the package "
           "versions, please update the hashes. Otherwise, examine the package contents carefully; someone may have "
           "tampered with them.\n"
           "    tiny==1.0 from file:///w/tiny-1.0-py3-none-any.whl (from -r /t/lock.txt (line 2)):\n"
           "        Expected sha256 0a\n"
           "             Got        1b\n\n",
           "a package is not the one that was asked for, so nothing was installed: tiny==1.0 from "
           "file:///w/tiny-1.0-py3-none-any.whl has SHA-256 1b, not 0a."},
      Case{"ERROR: Hashes are required in --require-hashes mode, but they are missing from some requirements.",
           "the lock has hashes for some packages and not for others"},
      Case{"ERROR: tiny has an invalid wheel, .dist-info directory not found", "a package is damaged: "},
      Case{"  error: command 'gcc' failed\n  ERROR: Failed building wheel for h5py\nERROR: Could not build wheels for "
           "h5py, which is required to install pyproject.toml-based projects",
           "a package has to be built from its source here, and that fails: Could not build wheels for h5py"},
      Case{"Command \"python setup.py egg_info\" failed with error code 1 in /tmp/pip-install-x/h5py/\n",
           "a package has to be built from its source here, and that fails: Command"},
      Case{"ERROR: Package 'numpy' requires a different Python: 3.7.16 not in '>=3.11'",
           "a package does not run on this Python: "},
      Case{"ERROR: something new\nWARNING: and a word more\n", "pip failed: something new"},
      Case{"", "pip failed without a word"},
  };
  for (const Case& c : kCases) {
    INFO(c.words);
    CHECK(explain_pip(c.words, "/d").starts_with(c.sentence));
  }
}

TEST_CASE("the end of a log is whole lines", "[environment][pip]") {
  CHECK(end_of_text("one\ntwo\nthree\n", 8) == "three\n");
  CHECK(end_of_text("short", 100) == "short");
  CHECK(last_line("one\ntwo \n\n") == "two");
  CHECK(last_line("").empty());
}

}  // namespace nocturne::measure
