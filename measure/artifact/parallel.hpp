#pragma once

/// A loop over a few slow, independent pieces of work.

#include <cstddef>
#include <functional>

namespace nocturne::measure {

/// Calls work(0) … work(count − 1), at most `jobs` at a time; false from one of them: no further ones begin. Returns
/// when all that began have ended. `work` must not throw.
void for_each_in_parallel(std::size_t count, int jobs, const std::function<bool(std::size_t)>& work);

}  // namespace nocturne::measure
