#pragma once

/// The command line of nocturne-command-worker.

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/command/private_view.hpp"

namespace nocturne::command {

enum class Timing {
  Process,  ///< the whole process is one step
  Steps,    ///< the module in front of it sees its steps, or it reports them through nocturne_steps.py
  Pattern,  ///< a pattern finds them in its output
  Detect,   ///< Steps where there are any, else Process
};

struct Options {
  Timing timing = Timing::Process;
  std::string pattern;
  std::string accuracy;    ///< a pattern: how accurate it is, in its output; read where a curve is asked for
  std::int64_t batch = 1;  ///< examples of a step, where the output tells examples a second
  std::string folder;      ///< where the command starts; empty: the worker's own
  std::string shim;        ///< path of nocturne_steps.py; empty: none
  std::string inject;      ///< folder of the module in front of Python scripts (kernels/inject); empty: none
  ViewPlan view;           ///< not prepared; its folders are those of the command line
  std::vector<std::string> command;
  std::string request, events;
};

/// Throws std::runtime_error with a sentence.
[[nodiscard]] Options read_options(const std::vector<std::string>& arguments);

/// What --help prints.
extern const char* const kHelp;

}  // namespace nocturne::command
