#pragma once

/// NOCTURNE_CLONES before a plain range function: the function is compiled for x86-64-v4, v3 and the baseline, and the
/// dynamic linker picks the one this CPU runs. A portable binary so gets the vector loops of -march=native.
///
/// Clones do not reach into lambdas or outlined bodies, so put it on functions that take pointers and a count. Left out
/// where the flags ask for AVX-512 anyway, and under sanitizers, whose run time is not ready when clones are resolved.

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define NOCTURNE_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define NOCTURNE_SANITIZED 1
#endif

#if defined(__x86_64__) && !defined(__AVX512F__) && !defined(NOCTURNE_SANITIZED)
#define NOCTURNE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define NOCTURNE_CLONES
#endif
