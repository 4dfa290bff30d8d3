#include "tests/db/child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>

namespace nocturne::db::test {

Child::Child(const std::string& command, const std::filesystem::path& database, std::vector<std::string> arguments) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  std::vector<std::string> words = {NOCTURNE_DB_CHILD, command, database.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  const int error = ::posix_spawn(&pid_, NOCTURNE_DB_CHILD, &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  output_ = pipe[0];
  if (error != 0) throw std::runtime_error("cannot start " NOCTURNE_DB_CHILD);
}

Child::~Child() {
  if (!end_ && pid_ > 0) {
    kill();
    wait();
  }
  ::close(output_);
}

std::optional<std::string> Child::line() {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      std::string result = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return result;
    }
    std::array<char, 4096> chunk{};
    const ssize_t count = ::read(output_, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    buffer_.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

std::string Child::rest() {
  std::string all;
  while (const auto next = line()) all += *next + "\n";
  return all;
}

void Child::kill() const {
  ::kill(pid_, SIGKILL);
}

Child::End Child::wait() {
  if (!end_) {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    end_ = End{.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
               .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
  }
  return *end_;
}

}  // namespace nocturne::db::test
