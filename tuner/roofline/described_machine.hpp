#pragma once

/// A machine that was only described: the figures of its data sheet in the place of measured ones.
///
/// Stored among the figures of machines (db: machine_figures) by a key of its own, so that no measured machine is taken
/// for it. What it does with one thread is its share of what all do.

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "db/records.hpp"
#include "tuner/campaign_file/problem.hpp"

namespace nocturne::tuner {

/// The key that the figures of a described machine are stored by; no digest looks like it.
[[nodiscard]] std::string described_key(std::string_view name);

/// What is stored of the machine that a file describes (schema/machine.schema.json): its key; as fields `system.host`
/// (the name), `cpu.model` and `cpu.isa`; figures as nocturne-machine prints them, each of the kernel "described".
/// `file` names it in problems.
[[nodiscard]] std::expected<db::MachineFiguresRecord, std::vector<Problem>> read_described_machine(
    std::string_view text, const std::string& file);

}  // namespace nocturne::tuner
