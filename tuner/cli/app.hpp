#pragma once

/// CLI11's parser by name alone, for headers. Its own header leaves 100 KB of code and objects made at the start in
/// each unit that includes it, so only the sources that add options do.

namespace CLI {
class App;
}
